// Live updates: each block with `data-cw-live` asks that address for itself again. An unchanged block is not sent; a
// block in use (a field, a selection, a ticked row, an open menu) is left alone until it is not.

const liveKey = "cogworkerLiveUpdate";
const interval = Number(root.dataset.interval);
const banner = document.getElementById("cw-banner");
const tags = new WeakMap();
window.cogworkerLive = localStorage.getItem(liveKey) !== "false";
let lostSince = null;
let failures = 0;
let timer = null;
let updatedAt = now();

const isField = (element) => element instanceof Element && element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
const isInUse = (block) => {
  if (ask.open) return true;
  const active = document.activeElement;
  if (block.contains(active) && isField(active)) return true;
  const selection = getSelection();
  if (!selection.isCollapsed && block.contains(selection.anchorNode)) return true;
  return block.querySelector("details.menu[open], dialog[open], [data-cw-stay], input[type=checkbox]:checked, [aria-busy=true]") !== null;
};

// Panels that a person opened stay open, whatever the server says; what stands for the same as before stays untouched.
const keep = {
  beforeNodeMorphed: (old, fresh) => !(old.dataset?.cwKeep && old.dataset.cwKeep === fresh.dataset?.cwKeep),
  beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details")),
};
// What stands outside of a block and goes with it, such as the sentence under a page's title.
const copyOut = (block) => {
  for (const source of block.querySelectorAll("template[data-cw-copy-to]")) {
    const target = document.getElementById(source.dataset.cwCopyTo);
    if (!target || target.innerHTML === source.innerHTML) continue;
    target.replaceChildren(source.content.cloneNode(true));
    localise(target);
  }
};
// The rows of a list whose beginning is scrolled away, from the first that is in view; none when the beginning shows.
const rowsInView = (block) => {
  const shown = [...block.querySelectorAll("tbody > [data-cw-row]")];
  const top = document.querySelector(".top").getBoundingClientRect().bottom;
  if (!shown.length || shown[0].getBoundingClientRect().top >= top) return [];
  return shown.slice(shown.findIndex((row) => row.getBoundingClientRect().bottom > top));
};
// Rows that would come in above what somebody has scrolled to wait behind a link; as many that stood at the end stay.
const holdBack = (block, fresh, seen) => {
  const [link, list] = ["[data-cw-new]", "tbody"].map((name) => fresh.querySelector(name));
  if (!link || !list || !seen.length) return false;
  const shown = [...block.querySelectorAll("tbody > [data-cw-row]")];
  const inView = new Set(seen.map((row) => row.id));
  const known = new Set(shown.map((row) => row.id));
  const rows = [...list.children];
  const anchor = rows.findIndex((row) => inView.has(row.id));
  const held = (anchor < 0 ? rows : rows.slice(0, anchor)).filter((row) => !known.has(row.id));
  if (!held.length) return false;
  for (const row of held) row.remove();
  const left = new Set([...list.children].map((row) => row.id));
  const pushedOut = shown.slice(shown.findLastIndex((row) => left.has(row.id)) + 1).slice(0, held.length);
  list.append(...pushedOut.map((row) => row.cloneNode(true)));
  link.hidden = false;
  link.textContent = `${held.length}${anchor < 0 ? " or more" : ""} new`;
  return true;
};
const replace = (block, html) => {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const seen = rowsInView(block);
  const isWhole = !holdBack(block, fresh.content, seen);
  const tops = seen.map((row) => row.getBoundingClientRect().top);
  localise(fresh.content);
  Idiomorph.morph(block, [...fresh.content.childNodes], { morphStyle: "innerHTML", ignoreActiveValue: true, callbacks: keep });
  // What went above does not pull up what stays.
  const at = seen.findIndex((row) => row.isConnected);
  if (at >= 0) scrollBy(0, seen[at].getBoundingClientRect().top - tops[at]);
  htmx.process(block);
  copyOut(block);
  block.dispatchEvent(new CustomEvent("cw:updated", { bubbles: true }));
  return isWhole;
};
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-cw-new]");
  const block = link && blockOf(link);
  if (!block || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  scrollTo(0, 0);
  try {
    await refresh(block);
    focusRow(rows()[0]);
  } catch (error) {
    lost(error.status === 503);
  }
});

const tell = (tone, icon, text, retry) => {
  banner.replaceChildren();
  if (!text) return;
  const line = document.getElementById("cw-banner-line").content.firstElementChild.cloneNode(true);
  line.classList.add(`banner--${tone}`);
  line.querySelector("use").setAttribute("href", `${root.dataset.icons}#i-${icon}`);
  line.querySelector("[data-cw-text]").textContent = text;
  const button = line.querySelector("button");
  if (retry) button.addEventListener("click", () => poll());
  else button.remove();
  banner.append(line);
};

const lost = (isRedis) => {
  failures += 1;
  lostSince ??= updatedAt;
  const since = strftime(new Date(lostSince), "%H:%M:%S");
  if (isRedis) tell("bad", "alert", `Redis does not answer. You see the state of ${since}. Workers keep their running jobs; nothing new starts.`, true);
  else tell("warn", "plug", `Connection lost. You see the state of ${since}. Trying again.`, true);
};
const back = () => {
  failures = 0;
  updatedAt = now();
  if (lostSince === null) return;
  const text = `Back after ${whole(Math.round((now() - lostSince) / 1000))}.`;
  lostSince = null;
  tell("ok", "check", text, false);
  setTimeout(() => lostSince === null && tell(), 5000);
};

const refresh = async (block) => {
  const url = block.dataset.cwLive;
  const known = tags.get(block);
  const headers = { "HX-Request": "true" };
  if (known?.url === url) headers["If-None-Match"] = known.tag;
  const answer = await fetch(url, { headers, cache: "no-store", credentials: "same-origin", redirect: "error" });
  if (answer.status === 304 || answer.status === 204) return true;
  if (!answer.ok) throw Object.assign(new Error(answer.statusText), { status: answer.status });
  const html = await answer.text();
  // What was clicked meanwhile is newer than this answer.
  if (isInUse(block) || block.dataset.cwLive !== url || block.hasAttribute("data-cw-acting")) return true;
  const isWhole = replace(block, html);
  const tag = answer.headers.get("ETag");
  // What was held back is asked for again.
  if (tag && isWhole) tags.set(block, { url, tag });
  else tags.delete(block);
  return true;
};

const poll = async () => {
  clearTimeout(timer);
  try {
    const blocks = [...document.querySelectorAll("[data-cw-live]")].filter((block) => !isInUse(block));
    await Promise.all(blocks.map(refresh));
    document.dispatchEvent(new CustomEvent("cw:tick"));
    if (blocks.length) back();
    const updated = document.querySelector("[data-cw-updated]");
    if (updated) setText(updated, strftime(new Date(now()), "%H:%M:%S"));
  } catch (error) {
    lost(error.status === 503);
  }
  plan();
};
const plan = () => {
  clearTimeout(timer);
  if (!window.cogworkerLive || document.hidden) return;
  timer = setTimeout(poll, Math.min(interval * 2 ** failures, 30000));
};

const liveSwitch = document.getElementById("cw-live");
const showLive = () => {
  liveSwitch.hidden = false;
  liveSwitch.setAttribute("aria-pressed", String(window.cogworkerLive));
  liveSwitch.title = window.cogworkerLive ? "Live updates are on" : "Live updates are off";
  setText(liveSwitch.querySelector("span"), window.cogworkerLive ? "Live" : "Live off");
};
liveSwitch.addEventListener("click", () => {
  window.cogworkerLive = !window.cogworkerLive;
  localStorage.setItem(liveKey, String(window.cogworkerLive));
  showLive();
  if (window.cogworkerLive) poll();
  else clearTimeout(timer);
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (window.cogworkerLive) poll();
});
addEventListener("online", () => window.cogworkerLive && poll());
// A page that could not be made comes back by itself. Its `meta` does that where there are no scripts: it would take
// the focus away each time.
if (document.body.hasAttribute("data-cw-reload")) {
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(location.href, { method: "HEAD", cache: "no-store" }).catch(() => null);
    if (answer && answer.status !== 503) location.reload();
  }, 5000);
} else {
  plan();
}
showLive();
