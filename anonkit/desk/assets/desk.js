// SPDX-License-Identifier: Apache-2.0
// Pages look again when something has changed; everything works without this, by loading the page.
"use strict";

(() => {
  const shown = new Map();

  const remember = () => {
    document.documentElement.classList.add("has-script");
    shown.clear();
    for (const part of document.querySelectorAll(".live")) shown.set(part.id, part.outerHTML);
  };

  // Only parts that the server shows otherwise are replaced, so that what is typed elsewhere stays.
  const lookAgain = async () => {
    const address = location.pathname;
    const answer = await fetch(address, { cache: "no-store" });
    if (address !== location.pathname) return;
    if (!answer.ok) {
      location.reload(); // whatever is wrong is said there
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of page.querySelectorAll(".live")) {
      const here = document.getElementById(part.id);
      if (!here || shown.get(part.id) === part.outerHTML) continue;
      if (here.matches(":active")) {
        // a button that is pressed is not replaced before it is let go: the click would be lost
        isHeldBack = true;
        continue;
      }
      shown.set(part.id, part.outerHTML);
      const focused = here.contains(document.activeElement) ? document.activeElement.id : "";
      const fresh = document.importNode(part, true);
      here.replaceWith(fresh);
      if (window.htmx) window.htmx.process(fresh);
      if (focused) document.getElementById(focused)?.focus();
    }
  };

  let isHeldBack = false;
  let isLooking = false;
  let isWanted = false;
  const changed = async () => {
    isWanted = true;
    if (isLooking) return;
    isLooking = true;
    try {
      while (isWanted) {
        isWanted = false;
        await lookAgain();
      }
    } catch {
      // the desk has ended, or is busy: the next change is told again
    } finally {
      isLooking = false;
    }
  };

  document.addEventListener("pointerup", () => {
    if (!isHeldBack) return;
    isHeldBack = false;
    setTimeout(changed, 300);
  });
  // Whoever goes to another station with roles or answers that are not saved saves them by it.
  const isTyped = (form) => [...form.elements].some((one) =>
    one.matches("select") ? [...one.options].some((each) => each.selected !== each.defaultSelected)
      : one.matches("[type=radio], [type=checkbox]") ? one.checked !== one.defaultChecked
        : one.matches("input:not([type=hidden]), textarea") && one.value !== one.defaultValue);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".line a");
    const form = document.querySelector("form[data-kept]");
    if (!link || !form || event.ctrlKey || event.metaKey || event.shiftKey || !isTyped(form)) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Object.assign(document.createElement("input"), { type: "hidden", name: "next" });
    next.value = link.getAttribute("href").slice(1);
    form.append(next);
    form.requestSubmit();
    next.remove();
  }, true);
  // A button that is pressed while its form is still on its way is pressed on the page that comes.
  let waiting = null;
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-kept].htmx-request")) return;
    event.preventDefault();
    event.stopPropagation();
    waiting = event.submitter?.name === "next" ? event.submitter.value : null;
  }, true);
  document.addEventListener("htmx:afterSettle", () => {
    const button = waiting && document.querySelector(`form[data-kept] button[name=next][value=${waiting}]`);
    waiting = null;
    button?.click();
  });
  document.addEventListener("change", (event) => {
    const into = event.target.dataset?.into;
    const file = event.target.files?.[0];
    if (into && file) file.text().then((text) => { document.getElementById(into).value = text; });
  });
  document.addEventListener("click", (event) => {
    const from = document.getElementById(event.target.closest?.("[data-copy]")?.dataset.copy ?? "");
    if (!from) return;
    const say = (words) => { document.getElementById("copied").textContent = words; };
    navigator.clipboard.writeText(from.innerText.trim()).then(() => say("Copied."), () => say("Copy it by hand."));
  });
  document.addEventListener("htmx:afterSettle", remember);
  // Another station is read from its top; what is saved stays where it was.
  let station = location.pathname;
  document.addEventListener("htmx:afterSettle", () => {
    if (station !== location.pathname) window.scrollTo(0, 0);
    station = location.pathname;
  });
  remember();
  const events = new EventSource("/events");
  events.addEventListener("changed", changed);
})();
