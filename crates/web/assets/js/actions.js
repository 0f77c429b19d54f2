// Actions: asked about where they cannot be undone, busy while they run, told when they are done.

const ask = document.getElementById("cw-ask");
document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = form.querySelector("input[name=ask]:not(:disabled)");
  if (!question) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const submitter = event.submitter;
  const value = (name) => form.querySelector(`input[name=${name}]`)?.value ?? "";
  ask.querySelector("h2").textContent = question.value;
  ask.querySelector("p").textContent = value("ask_text");
  ask.querySelector("[data-cw-verb]").textContent = value("ask_verb") || "Continue";
  ask.returnValue = "";
  ask.showModal();
  ask.addEventListener("close", () => {
    submitter?.focus();
    if (ask.returnValue !== "yes") return;
    question.disabled = true;
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
document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.detail.elt;
  blockOf(form)?.setAttribute("data-cw-acting", "");
  const button = event.detail.requestConfig.triggeringEvent?.submitter ?? form.querySelector("button");
  if (!button) return;
  form.cwButton = button;
  button.setAttribute("aria-busy", "true");
  button.disabled = true;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.detail.elt;
  for (const block of document.querySelectorAll("[data-cw-acting]")) block.removeAttribute("data-cw-acting");
  const button = form.cwButton;
  if (button) {
    button.removeAttribute("aria-busy");
    button.disabled = false;
  }
  if (event.detail.failed && !event.detail.xhr?.status) lost(false);
  const pill = document.getElementById("cluster-bar");
  if (pill && event.detail.successful) refresh(pill).catch(() => {});
});
document.addEventListener("htmx:afterSettle", (event) => {
  localise(event.detail.elt);
  copyOut(event.detail.elt);
  tags.delete(event.detail.elt);
  event.detail.elt.dispatchEvent(new CustomEvent("cw:updated", { bubbles: true }));
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-cw-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.cwCopy)?.textContent ?? button.dataset.cwCopyText ?? "";
  await navigator.clipboard.writeText(text);
  button.title = "Copied";
});
