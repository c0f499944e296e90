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
  const start = () => {
    new MutationObserver(restore).observe(document.body, {
      childList: true, subtree: true, attributes: true, attributeFilter: ["open"],
    });
    document.documentElement.lang ||= "en";
    restore();
  };
  if (document.body) start(); else document.addEventListener("DOMContentLoaded", start);
})();
