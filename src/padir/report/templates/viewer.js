// Shows traces, as `padir.report.viewer` describes them, in place of those shown before.
const showTraces = (() => {
  let traces = null;
  const app = document.getElementById("viewer-app");
  const PLAY_MS = 1000;
  const make = (tag, properties = {}, ...children) => {
    const { data, ...rest } = properties;
    const node = Object.assign(document.createElement(tag), rest);
    Object.assign(node.dataset, data);
    node.append(...children);
    return node;
  };
  const nameOf = (row) => `${row.training}/${row.decoder}`;
  let places = [];
  const rowsAt = (place) => traces.rows.filter((row) => row.place === place);
  const parallel = () => rowsAt(state.place).filter((row) => row.passes !== null);
  const usual = (index) => parallel().slice(-2)[index] || (index ? null : rowsAt(state.place)[0]);
  const SIDES = ["left", "right"];
  const state = { place: null, sentence: 0, pass: 0, left: null, right: null };
  let timer = null;

  const sentenceOf = (row) => row.sentences[state.sentence];
  const statesOf = (side) => {
    const candidates = sentenceOf(side.row).candidates;
    return candidates.length ? candidates[side.candidate].states : [];
  };
  const lastPass = () => Math.max(0, ...SIDES.filter((name) => state[name])
    .map((name) => statesOf(state[name]).length - 1));
  const choose = (row) => row && { row, candidate: sentenceOf(row).chosen ?? 0 };

  // What a link says: #viewer?sentence=3&pass=2&left=TRAINING/DECODER&left-candidate=1&right=none
  const read = () => {
    const [name, query] = location.hash.slice(1).split("?");
    const asked = new URLSearchParams(name === "viewer" && query ? query : "");
    const number = (key, most, otherwise) => {
      const value = asked.has(key) ? Number(asked.get(key)) : otherwise;
      return Number.isInteger(value) ? Math.min(Math.max(value, 0), most) : otherwise;
    };
    if (places.includes(asked.get("place"))) state.place = asked.get("place");
    const rows = rowsAt(state.place);
    state.sentence = number("sentence", rows[0].sentences.length, 1) - 1;
    state.sentence = Math.max(0, state.sentence);
    SIDES.forEach((side, index) => {
      const row = rows.find((each) => nameOf(each) === asked.get(side));
      const none = side === "right" && asked.get(side) === "none";
      state[side] = none ? null : choose(row || usual(index));
      if (!state[side]) return;
      const most = Math.max(0, sentenceOf(state[side].row).candidates.length - 1);
      const chosen = state[side].candidate;
      state[side].candidate = number(`${side}-candidate`, most + 1, chosen + 1) - 1;
      state[side].candidate = Math.max(0, state[side].candidate);
    });
    state.pass = number("pass", lastPass(), Math.min(1, lastPass()));
  };
  const write = () => {
    const query = new URLSearchParams();
    if (places.length > 1) query.set("place", state.place);
    query.set("sentence", state.sentence + 1);
    query.set("pass", state.pass);
    for (const side of SIDES) {
      query.set(side, state[side] ? nameOf(state[side].row) : "none");
      if (state[side]) query.set(`${side}-candidate`, state[side].candidate + 1);
    }
    const address = "#viewer?" + query.toString().replaceAll("%2F", "/");
    history.replaceState(null, "", address);
  };

  const text = (piece) => piece.replace(/^\u2581/, "") || "\u00a0";
  const percent = (share) => `${(100 * share).toFixed(share > 0.1 ? 0 : 1)} %`;
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  const detail = make("p", { className: "detail" });
  detail.setAttribute("aria-live", "polite");
  const source = make("p", { className: "pieces source", dir: "auto" });
  const token = (now, before, position, pass) => {
    const piece = now.tokens[position];
    const marks = [];
    if (pass > 1 && before && before.tokens[position] !== piece) marks.push("changed");
    if (position && now.tokens[position - 1] === piece) marks.push("stutter");
    if (now.hidden && now.hidden.includes(position)) marks.push(pass ? "hidden" : "start");
    const node = make("span", { className: ["token", ...marks].join(" "), tabIndex: 0 }, text(piece));
    if (!piece.startsWith("\u2581")) node.classList.add("inner");
    const confidence = now.confidence && now.confidence[position];
    if (confidence !== undefined) node.style.setProperty("--confidence", confidence);
    const words = [`\u201c${text(piece)}\u201d`];
    if (confidence !== undefined) words.push(`probability ${percent(confidence)}`);
    const says = { changed: "changed by this pass", stutter: "equal to its left neighbour",
      hidden: "hidden again for the next pass", start: "start token, hidden" };
    words.push(...marks.map((mark) => says[mark]));
    const attended = now.attended && now.attended[position];
    const look = () => {
      const piece = attended !== undefined && source.children[attended];
      for (const each of source.children) each.classList.toggle("attended", each === piece);
      const looks = piece ? `; cross-attention mostly at \u201c${piece.textContent}\u201d` : "";
      detail.textContent = words.join(", ") + looks;
    };
    node.setAttribute("aria-label", words.join(", "));
    node.addEventListener("pointerenter", look);
    node.addEventListener("focus", look);
    return node;
  };

  const pane = (side, index) => {
    const box = make("div", { className: "pane", data: { side } });
    const select = make("select", { ariaLabel: `Training and decoder, ${side}`, data: { key: side } });
    if (index) select.append(make("option", { value: "none" }, "none"));
    for (const row of rowsAt(state.place)) {
      const passes = row.passes === null ? "one token per pass" : `up to ${row.passes} passes`;
      select.append(make("option", { value: nameOf(row) }, `${row.training} ${row.decoder}, ${passes}`));
    }
    select.value = state[side] ? nameOf(state[side].row) : "none";
    select.addEventListener("change", () => {
      state[side] = choose(rowsAt(state.place).find((row) => nameOf(row) === select.value));
      update();
    });
    box.append(select.options.length > 1 ? select : make("p", { className: "label" }, select.textContent));
    if (!state[side]) return box;
    const record = sentenceOf(state[side].row);
    const states = statesOf(state[side]);
    const pass = Math.min(state.pass, states.length - 1);
    const candidates = make("div", { className: "candidates" });
    candidates.setAttribute("role", "group");
    candidates.setAttribute("aria-label", `Length candidates, ${side}`);
    record.candidates.forEach((candidate, number) => {
      const won = number === record.chosen;
      const button = make("button", { type: "button", data: { key: `${side}-${number}` },
        title: `log-probability ${candidate.log_probability}, of the length `
          + `${candidate.length_log_probability}; ${plural(candidate.passes, "pass")}`
            .replace(/passs$/, "passes") },
        `${won ? "★ " : ""}${candidate.length} tokens, score ${candidate.score}`);
      if (won) button.ariaLabel = `${button.textContent.slice(2)}, chosen`;
      button.setAttribute("aria-pressed", number === state[side].candidate);
      button.addEventListener("click", () => { state[side].candidate = number; update(); });
      candidates.append(button);
    });
    box.append(candidates);
    if (!states.length) {
      box.append(make("p", {}, "The source is empty: no model sees it."));
      return box;
    }
    const tokens = make("p", { className: "pieces tokens", dir: "auto" });
    tokens.append(...states[pass].tokens.map((_, position) =>
      token(states[pass], states[pass - 1], position, pass)));
    const count = (name) => tokens.querySelectorAll(`.${name}`).length;
    const done = pass === states.length - 1;
    const after = pass ? `After pass ${pass}` : "Before the first pass";
    const status = state[side].row.passes === null ? "Left to right, one token per pass"
      : `${after}: ${plural(count("changed"), "change")}, ${plural(count("stutter"), "stutter")}, `
        + `${count("hidden")} hidden again${done ? "; finished" : ""}`;
    const final = make("p", { className: "final" }, make("b", {}, "Output: "),
      make("bdi", {}, record.hypothesis));
    box.append(tokens, make("p", { className: "status" }, status), final);
    return box;
  };

  const button = (key, label, symbol, act) => {
    const node = make("button", { type: "button", ariaLabel: label, title: label, data: { key } }, symbol);
    node.addEventListener("click", act);
    return node;
  };
  const move = (by) => {
    state.pass = Math.min(Math.max(state.pass + by, 0), lastPass());
    update();
  };
  const goTo = (sentence) => {
    const count = rowsAt(state.place)[0].sentences.length;
    state.sentence = Math.min(Math.max(sentence, 0), count - 1);
    for (const side of SIDES) if (state[side]) state[side] = choose(state[side].row);
    state.pass = Math.min(1, lastPass());
    update();
  };
  const stop = () => { clearInterval(timer); timer = null; };
  const play = () => {
    if (timer) stop();
    else {
      if (state.pass >= lastPass()) state.pass = 0;
      timer = setInterval(() => {
        if (state.pass >= lastPass()) stop();
        else state.pass += 1;
        update();
      }, PLAY_MS);
    }
    update();
  };

  const controls = () => {
    const bar = make("div", { className: "tools controls" });
    const sentences = rowsAt(state.place)[0].sentences;
    if (places.length > 1) {
      const select = make("select", { ariaLabel: "Test set", data: { key: "place" } });
      select.append(...places.map((place) => make("option", { value: place }, place)));
      select.value = state.place;
      select.addEventListener("change", () => {
        state.place = select.value;
        // Another test set may have fewer sentences.
        state.sentence = 0;
        SIDES.forEach((side, index) => { state[side] = choose(usual(index)); });
        goTo(0);
      });
      bar.append(select);
    }
    const select = make("select", { ariaLabel: "Sentence", className: "sentence", data: { key: "sentence" } });
    sentences.forEach((record, number) =>
      select.append(make("option", { value: number }, `${number + 1}: ${record.source}`)));
    select.value = state.sentence;
    select.addEventListener("change", () => goTo(Number(select.value)));
    const slider = make("input", { type: "range", min: 0, max: lastPass(), ariaLabel: "Pass",
      data: { key: "slider" } });
    slider.value = state.pass;
    slider.addEventListener("input", () => { state.pass = Number(slider.value); update(); });
    if (sentences.length > 1) bar.append(select);
    bar.append(button("back", "One pass back", "◀", () => move(-1)),
      button("play", timer ? "Stop" : "Play", timer ? "■" : "▶ Play", play),
      button("on", "One pass on", "▶", () => move(1)), slider,
      make("output", {}, `pass ${state.pass} of ${lastPass()}`));
    return bar;
  };

  const legend = () => make("p", { className: "legend" }, "Marks: ",
    ...[["start", "start token"], ["changed", "changed"], ["stutter", "stutter"],
      ["hidden", "hidden again"]].map(([mark, word]) =>
      make("span", { className: `token ${mark}` }, word)),
    make("span", { className: "token sure" }, "sure"), make("span", { className: "token unsure" }, "unsure"));

  const draw = () => {
    const focused = document.activeElement && app.contains(document.activeElement)
      && document.activeElement.dataset.key;
    const rows = rowsAt(state.place);
    const record = sentenceOf(rows[0]);
    source.replaceChildren(...record.source_pieces.map((piece) =>
      make("span", { className: "token plain" }, piece === "</s>" ? "end" : text(piece))));
    detail.textContent = "\u00a0";
    const panes = make("div", { className: "panes" }, ...SIDES.slice(0, rows.length).map(pane));
    const below = make("dl", { className: "below" });
    if (record.reference !== undefined) {
      below.append(make("dt", {}, "Reference"), make("dd", { dir: "auto" }, record.reference));
    }
    for (const row of rows.filter((each) => each.baseline)) {
      below.append(make("dt", {}, `AR (${nameOf(row)})`),
        make("dd", { dir: "auto" }, sentenceOf(row).hypothesis));
    }
    const some = (traces.shown < traces.recorded
      ? `The first ${traces.shown} of ${traces.recorded} recorded sentences. ` : "")
      + (traces.left_off ? `Rows without space on this page: ${traces.left_off}.` : "");
    app.replaceChildren(controls(), make("p", { className: "label" }, "Source"), source, panes,
      detail, below, legend(), some);
    app.dataset.pass = state.pass;
    app.dataset.sentence = state.sentence + 1;
    if (focused) {
      const again = [...app.querySelectorAll("[data-key]")].find((node) => node.dataset.key === focused);
      if (again) again.focus({ preventScroll: true });
    }
  };
  const update = () => {
    state.pass = Math.min(state.pass, lastPass());
    draw();
    write();
  };

  app.addEventListener("keydown", (event) => {
    if (event.target.matches("select, input") || event.altKey || event.ctrlKey || event.metaKey) return;
    const acts = { ArrowLeft: () => move(-1), ArrowRight: () => move(1),
      ArrowUp: () => goTo(state.sentence - 1), ArrowDown: () => goTo(state.sentence + 1) };
    if (!event.target.matches("button")) acts[" "] = play;
    if (!acts[event.key]) return;
    event.preventDefault();
    const inside = event.target !== app && !event.target.dataset.key;
    acts[event.key]();
    if (inside) app.focus({ preventScroll: true });
  });
  const follow = () => {
    if (traces && location.hash.startsWith("#viewer")) {
      read();
      draw();
      document.getElementById("viewer").scrollIntoView();
    }
  };
  addEventListener("hashchange", follow);
  return (given) => {
    stop();
    traces = given;
    places = [...new Set(traces.rows.map((row) => row.place))];
    state.place = places[0];
    document.getElementById("viewer").hidden = false;
    read();
    draw();
    follow();
  };
})();
if (document.getElementById("traces")) {
  showTraces(JSON.parse(document.getElementById("traces").textContent));
}
