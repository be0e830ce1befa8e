"use strict";
// Tabs by arrow keys; links open what they lead to.
(() => {
  // A drawing that is wider than its frame begins at its operations: parameters lie on their left.
  const centre = (panel) => {
    const svg = panel.querySelector("svg.drawing");
    const box = svg && svg.querySelector("g:not(.input) rect");
    if (!box) return;
    const frame = svg.parentElement;
    frame.scrollLeft = box.x.baseVal.value + (box.width.baseVal.value - frame.clientWidth) / 2;
  };
  const select = (tab) => {
    const tabs = [...tab.parentElement.querySelectorAll(":scope > [role=tab]")];
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      const panel = document.getElementById(other.getAttribute("aria-controls"));
      panel.hidden = !chosen;
      if (chosen) centre(panel);
    }
  };
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) select(tab);
  });
  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab) return;
    const tabs = [...tab.parentElement.querySelectorAll(":scope > [role=tab]")];
    const places = { Home: 0, End: tabs.length - 1 };
    const place = event.key in steps
      ? (tabs.indexOf(tab) + steps[event.key] + tabs.length) % tabs.length
      : places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    select(tabs[place]);
    tabs[place].focus();
  });
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
      if (element.getAttribute("role") === "tabpanel" && element.hidden) {
        select(document.getElementById(element.getAttribute("aria-labelledby")));
      }
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  const all = (open) => () => document.querySelectorAll("details").forEach((item) => { item.open = open; });
  document.getElementById("open-all").addEventListener("click", all(true));
  document.getElementById("close-all").addEventListener("click", all(false));
  addEventListener("beforeprint", all(true));
})();
