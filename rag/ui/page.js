(() => {
  "use strict";
  // Gradio rewrites attributes of changed HTML, so a <details> that a reader opened would close
  // with the next event. What was opened is remembered by its key and opened again before paint.
  const chosen = new Map();
  const wide = () => window.matchMedia("(min-width: 721px)").matches;
  const wanted = (node) => {
    const key = node.dataset.key;
    return chosen.has(key) ? chosen.get(key) : node.dataset.open === "wide" && wide();
  };
  const restore = () => {
    for (const node of document.querySelectorAll("details[data-key]")) {
      if (node.open !== wanted(node)) node.open = wanted(node);
    }
  };
  document.addEventListener("click", (event) => {
    const summary = event.target.closest?.("details[data-key] > summary");
    if (summary) chosen.set(summary.parentElement.dataset.key, !summary.parentElement.open);
    const cite = event.target.closest?.('a.c[href^="#src-"]');
    if (cite) { event.preventDefault(); show(cite.getAttribute("href").slice(1)); }
  });
  const show = (id) => {
    const card = document.getElementById(id);
    if (!card) return;
    for (const other of document.querySelectorAll(".src.on")) other.classList.remove("on");
    card.classList.add("on");
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    card.scrollIntoView({ block: wide() ? "nearest" : "start", behavior: calm ? "auto" : "smooth" });
    card.focus({ preventScroll: true });
  };
  // Focus goes to what an event brings, which may be mounted or shown a moment after it.
  window.focusSoon = (selector, tries = 40) => {
    const node = document.querySelector(selector);
    if (node?.checkVisibility()) {
      node.focus({ preventScroll: node.tabIndex < 0 });
      node.closest(".drawer")?.scrollTo(0, 0); // another card begins at its beginning
    }
    if (document.activeElement !== node && tries > 0) {
      setTimeout(() => window.focusSoon(selector, tries - 1), 25);
    }
  };
  let row = null; // where the reader was in the table before a card was opened
  const library = (event) => {
    const cell = event.target.closest?.(".library-table .body-cell");
    if (cell) row = cell;
    const closes = event.target.closest?.("#close-card");
    if (closes) window.focusSoon(row?.isConnected ? `[data-testid="${row.dataset.testid}"]`
      : ".library-table [role=grid], .library-table table");
    const opens = event.target.closest?.(".drawer .opens");
    if (opens) {
      const open = opens.getAttribute("aria-expanded") !== "true";
      opens.setAttribute("aria-expanded", open);
      opens.closest("tbody").querySelector(".said").hidden = !open;
    }
    const copies = event.target.closest?.(".drawer .copies");
    if (copies) copy(copies.closest(".bibtex"));
  };
  const copy = async (place) => {
    const [box, said] = [place.querySelector("textarea"), place.querySelector(".copied")];
    let copied = true;
    try {
      await navigator.clipboard.writeText(box.value);
    } catch {
      box.select(); // without https there is no clipboard, but the older command may do
      copied = document.execCommand("copy");
    }
    said.textContent = copied ? "Copied" : "Selected: press Ctrl+C";
  };
  document.addEventListener("click", library);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      const cell = event.target.closest?.(".library-table .body-cell");
      if (cell) row = cell;
    }
    const drawer = document.querySelector(".drawer:has(.paper)");
    if (event.key === "Escape" && drawer?.checkVisibility()) document.querySelector("#close-card").click();
  });
  const start = () => {
    new MutationObserver(restore).observe(document.body, {
      childList: true, subtree: true, attributes: true, attributeFilter: ["open"],
    });
    document.documentElement.lang ||= "en";
    restore();
  };
  if (document.body) start(); else document.addEventListener("DOMContentLoaded", start);
})();
