// Actions: asked about where they cannot be undone, busy while they run, told when they are done.

const ask = document.getElementById("cw-ask");
// A form asks in its field `ask`; one of several buttons that are named `do` in `ask:<value of the button>`.
const questionOf = (form, submitter) => {
  const field = (name) => [...form.elements].find((element) => element.name === name && !element.disabled);
  const button = submitter?.name === "do" && field(`ask:${submitter.value}`) ? `:${submitter.value}` : "";
  const question = field(`ask${button}`);
  const ticked = [...form.elements].filter((element) => element.name === "entry" && element.checked).length;
  const text = (name) => (field(`${name}${button}`)?.value ?? "").replace("{n} selected jobs", `${ticked} selected job${ticked === 1 ? "" : "s"}`);
  return question && { question, title: text("ask"), text: text("ask_text"), verb: text("ask_verb") };
};
// A text that stands in the search of Jobs counts, whether it was sent or not: a filter that is added keeps it, and what
// is to be done to all that match first shows which those are.
const typed = () => {
  const box = document.querySelector("#jobs-filter input[type=search]");
  return box && box.value.trim() !== box.defaultValue.trim() ? box : null;
};
document.addEventListener("submit", (event) => {
  const form = event.target;
  const box = typed();
  if (!box || form === box.form) return;
  if (form.closest("#jobs-filter")) {
    const kept = form.elements.q ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "q" }));
    kept.value = box.value.trim();
  } else if (form.closest("#jobs-content") && form.elements.counted_at && (form.id !== "bulk" || form.elements.all)) {
    event.preventDefault();
    event.stopImmediatePropagation();
    box.form.requestSubmit();
  }
}, true);
document.addEventListener("submit", (event) => {
  const form = event.target;
  const submitter = event.submitter;
  const asked = questionOf(form, submitter);
  if (!asked) return;
  const { question } = asked;
  // What comes while it is asked is not what was asked about.
  const countedAt = form.elements.counted_at?.value;
  event.preventDefault();
  event.stopImmediatePropagation();
  ask.querySelector("h2").textContent = asked.title;
  ask.querySelector("p").textContent = asked.text;
  ask.querySelector("[data-cw-verb]").textContent = asked.verb || "Continue";
  ask.returnValue = "";
  ask.showModal();
  ask.addEventListener("close", () => {
    submitter?.focus();
    if (ask.returnValue !== "yes") return;
    question.disabled = true;
    if (countedAt) form.elements.counted_at.value = countedAt;
    form.requestSubmit(submitter);
    question.disabled = false;
  }, { once: true });
}, true);

const toasts = document.getElementById("cw-toasts");
const dismiss = (toast) => {
  toast.remove();
};
const keepToasts = () => {
  for (const toast of toasts.querySelectorAll(".toast:not([data-cw-seen])")) {
    toast.dataset.cwSeen = "";
    if (toast.classList.contains("toast--bad")) continue;
    let left = 6;
    const tick = setInterval(() => {
      if (toast.matches(":hover, :focus-within")) return;
      left -= 1;
      if (left <= 0 || !toast.isConnected) {
        clearInterval(tick);
        dismiss(toast);
      }
    }, 1000);
  }
};
new MutationObserver(keepToasts).observe(toasts, { childList: true });
document.addEventListener("click", (event) => {
  const close = event.target.closest("[data-cw-close]");
  if (close) dismiss(close.closest(".toast, .banner"));
});

const blockOf = (element) => element.closest("[data-cw-live]");
// A second click while the first one runs is none.
document.addEventListener("submit", (event) => {
  if (!event.target.querySelector("[aria-busy=true]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
// Where the focus was when an action began, by its button or by a key on its row: both may be gone when it ends.
let acted = null;
document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.detail.elt;
  const button = event.detail.requestConfig.triggeringEvent?.submitter ?? form.querySelector("button");
  blockOf(form)?.setAttribute("data-cw-acting", "");
  form.cwButton = button;
  if (!button) return;
  // Not disabled, which would take the focus away; a second click is none.
  button.setAttribute("aria-busy", "true");
  const row = button.closest("[data-cw-row]");
  acted = (row ?? button).contains(document.activeElement) ? { row, next: row?.nextElementSibling, place: row ? rows().indexOf(row) : -1 } : null;
});
document.addEventListener("htmx:afterRequest", (event) => {
  for (const block of document.querySelectorAll("[data-cw-acting]")) block.removeAttribute("data-cw-acting");
  event.detail.elt.cwButton?.removeAttribute("aria-busy");
  if (event.detail.failed && !event.detail.xhr?.status) lost(false);
  const pill = document.getElementById("cluster-bar");
  if (pill && event.detail.successful) refresh(pill).catch(() => {});
});
// The focus goes to what took the button's place: the other one of its row, or the row that came up.
const refocus = () => {
  const { row, next, place } = acted;
  acted = null;
  if (document.activeElement && document.activeElement !== document.body) return;
  if (row?.isConnected) (row.querySelector("form button") ?? row.querySelector("a, button"))?.focus();
  else focusRow(next?.isConnected ? next : rows()[Math.min(place, rows().length - 1)]);
};
// At once, before a live update replaces what was swapped in.
document.addEventListener("htmx:afterSwap", () => {
  for (const message of document.querySelectorAll("template[data-cw-toast]")) {
    toasts.append(message.content);
    message.remove();
  }
});
document.addEventListener("htmx:afterSettle", (event) => {
  localise(event.detail.elt);
  copyOut(event.detail.elt);
  tags.delete(event.detail.elt);
  if (acted) refocus();
  event.detail.elt.dispatchEvent(new CustomEvent("cw:updated", { bubbles: true }));
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-cw-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.cwCopy)?.textContent ?? button.dataset.cwCopyText ?? "";
  await navigator.clipboard.writeText(text);
  button.title = "Copied";
});
