// Keyboard: single keys, outside of fields, which can be switched off in the list of them.

const keysKey = "cogworkerShortcuts";
const keyList = document.getElementById("cw-keys");
const keysSwitch = keyList.querySelector("input");
keysSwitch.checked = localStorage.getItem(keysKey) !== "false";
keysSwitch.addEventListener("change", () => localStorage.setItem(keysKey, String(keysSwitch.checked)));
for (const opener of document.querySelectorAll("[data-cw-keys]")) {
  opener.hidden = false;
  opener.addEventListener("click", () => keyList.showModal());
}

const rows = () => [...document.querySelectorAll("#cw-main [data-cw-row]")];
// Beside an open detail the row that it belongs to.
const openRow = () => document.querySelector("#cw-main [data-cw-row][aria-current=true]");
const currentRow = () => document.activeElement?.closest?.("[data-cw-row]") ?? openRow();
const focusRow = (row) => row?.querySelector("a, button")?.focus();
const step = (by) => {
  const all = rows();
  const at = all.indexOf(currentRow());
  focusRow(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)]);
};
// A detail is closed by going to the list: the focus goes to the row it was opened from.
const leftKey = "cogworkerLeftRow";
document.addEventListener("click", (event) => {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const closes = event.target.closest("[data-cw-close-detail], .detail .back");
  const row = closes && openRow();
  if (row?.id) sessionStorage.setItem(leftKey, row.id);
});
const left = sessionStorage.getItem(leftKey);
sessionStorage.removeItem(leftKey);
// Once the page is shown: before that, dialogs' autofocus is looked at, which must find nothing focused.
if (left) requestAnimationFrame(() => focusRow(document.getElementById(left)));
const press = (name) => currentRow()?.querySelector(`[data-cw-key="${name}"]`)?.click();
const closeTop = () => {
  const menu = document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
    return;
  }
  const ticked = document.querySelectorAll("#cw-main input[type=checkbox]:checked");
  if (ticked.length) {
    for (const box of ticked) box.click();
    return;
  }
  document.querySelector("[data-cw-close-detail]")?.click();
};
const KEYS = {
  "/": () => document.querySelector("#cw-main input[type=search]")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  x: () => press("select"),
  r: () => press("run"),
  d: () => press("delete"),
  "?": () => keyList.showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isField(event.target) || event.target.isContentEditable) return;
  if (event.key === "Escape") return closeTop();
  if (!keysSwitch.checked || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
