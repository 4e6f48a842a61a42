"use strict";
(() => {
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  // The core's page lies one folder deeper, with the same bytes.
  if (/\/core\/[^/]*$/.test(location.pathname)) {
    for (const link of document.querySelectorAll("a[href]")) {
      const address = link.getAttribute("href");
      if (!address.startsWith("#")) link.setAttribute("href", "../" + address);
    }
  }

  // Contents stand open where there is a column for them.
  const contents = document.getElementById("contents");
  const wide = matchMedia("(min-width: 75rem)");
  const unfold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();

  // A link into a folded claim unfolds it.
  const reveal = () => {
    const name = location.hash.slice(1).split("?")[0];
    const target = name && document.getElementById(name);
    if (target && target.matches("details")) {
      target.hidden = false;
      for (let each = target; each; each = each.parentElement.closest("details")) each.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();
  // Paper cannot be unfolded: all but lists of files is open on it.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    const folded = "main details:not([open], .made, #absent, #absent details)";
    unfolded = [...document.querySelectorAll(folded)];
    for (const each of unfolded) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of unfolded) each.open = false;
  });

  // Tables: a click on a heading sorts; text filters rows.
  const compare = (a, b) => {
    const [x, y] = [a, b].map((text) => (text === "" ? NaN : Number(text)));
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    if (rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = make("button", { type: "button", className: "sort" }, ...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const way = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", way);
        const sign = way === "ascending" ? 1 : -1;
        const empty = (row) => ["", "–", "not run"].includes(valueOf(row.cells[column]));
        // Cells without a value stay last either way.
        body.append(...[...rows].sort((a, b) => empty(a) - empty(b)
          || sign * compare(valueOf(a.cells[column]), valueOf(b.cells[column]))));
      });
    });
    if (rows.length < 6) continue;
    const box = make("input", { type: "search", className: "filter",
      placeholder: "Filter rows", ariaLabel: "Filter rows of " + table.caption.textContent });
    const number = make("span", { className: "shown", ariaLive: "polite" });
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      number.textContent = words.length ? ` ${shown} of ${rows.length} rows` : "";
    });
    table.parentElement.before(make("p", { className: "tools" }, box, number));
  }

  // Claims by verdict.
  const filter = document.getElementById("claim-filter");
  const claims = [...document.querySelectorAll("details.claim")];
  const verdicts = [...new Set(claims.map((claim) => claim.dataset.verdict))];
  const group = make("fieldset", { className: "tools" }, make("legend", {}, "Show"));
  const boxes = verdicts.map((verdict) => {
    const box = make("input", { type: "checkbox", checked: true, value: verdict });
    const count = claims.filter((claim) => claim.dataset.verdict === verdict).length;
    group.append(make("label", {}, box, ` ${verdict} (${count})`));
    return box;
  });
  const unfoldAll = make("button", { type: "button" }, "Unfold all");
  unfoldAll.addEventListener("click", () => {
    const open = unfoldAll.textContent === "Unfold all";
    for (const folded of document.querySelectorAll("#claims details")) folded.open = open;
    unfoldAll.textContent = open ? "Fold all" : "Unfold all";
  });
  group.append(unfoldAll);
  group.addEventListener("change", () => {
    const shown = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    for (const claim of claims) claim.hidden = !shown.has(claim.dataset.verdict);
    for (const part of document.querySelectorAll("#claims .group")) {
      part.hidden = ![...part.querySelectorAll(".claim")].some((claim) => !claim.hidden);
    }
  });
  filter.append(group);

  // Values of marks, at once and on touch; browsers show a title late and never on touch.
  const tip = make("div", { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  for (const title of document.querySelectorAll(".drawing :is(use, path) > title")) {
    title.parentElement.dataset.value = title.textContent;
    title.remove();
  }
  const show = (mark) => {
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.value;
    const place = mark.getBoundingClientRect();
    const left = Math.min(place.right + 8, innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left) + scrollX}px`;
    tip.style.top = `${place.top + scrollY - tip.offsetHeight - 8}px`;
  };
  const point = (event) => show(event.target.closest && event.target.closest("[data-value]:is(use, path)"));
  addEventListener("pointerover", point);
  addEventListener("pointerdown", point);
  // By keyboard: the drawing has the focus, arrow keys go from mark to mark.
  for (const drawing of document.querySelectorAll(".drawing")) {
    const marks = [...drawing.querySelectorAll("[data-value]")];
    if (!marks.length) continue;
    let at = -1;
    drawing.tabIndex = 0;
    drawing.ariaLabel += " Arrow keys read the values of its marks.";
    drawing.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      at = Math.min(Math.max(at + by, 0), marks.length - 1);
      show(marks[at]);
    });
    drawing.addEventListener("blur", () => show(null));
  }
})();
