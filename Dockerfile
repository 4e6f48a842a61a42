# The project with its locked packages, not built yet: docker build -t padir .
# With JAX for accelerators (cuda, cuda12, tpu):       docker build --build-arg EXTRAS=cuda -t padir .
# Everything, into ./results:           docker run --rm -v "$PWD/results:/padir/results" padir everything --cores 2
# One verb of the package:              docker run --rm -i --entrypoint padir padir doctor
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
WORKDIR /padir
COPY Makefile pyproject.toml requirements.lock README.md LICENSE ./
COPY src src
ARG EXTRAS=
RUN make setup EXTRAS=$EXTRAS
COPY Snakefile ./
COPY config config
COPY rules rules
COPY workflow workflow
COPY profiles profiles
ENV PATH="/padir/.venv/bin:$PATH"
ENTRYPOINT ["snakemake"]
CMD ["core", "--cores", "all"]
