"""Named array types. Axes: B batch, S source, L target, V vocabulary, E width, H heads, D head."""

from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

SourceTokens = Int[Array, "B S"]
Tokens = Int[Array, "B L"]
Mask = Bool[Array, "B L"]
SourceMask = Bool[Array, "B S"]
Logits = Float[Array, "B L V"]
LengthLogits = Float[Array, "B C"]
Memory = Float[Array, "B S E"]
Hidden = Float[Array, "B L E"]
# One key, or None where nothing is random: dropout is off.
DropoutKey = PRNGKeyArray | Key[Array, ""] | None
