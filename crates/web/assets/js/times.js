// Times: written in the browser's zone, and counted on between two updates.

const root = document.documentElement;
// What a server's clock says more than this browser's, in ms.
const skew = Number(root.dataset.now) * 1000 - Date.now();
const now = () => Date.now() + skew;

const pad = (number, width = 2, fill = "0") => String(number).padStart(width, fill);
const named = (options) => (date) => new Intl.DateTimeFormat("en", options).format(date);
const zoneOffset = (date) => {
  const minutes = -date.getTimezoneOffset();
  return `${minutes < 0 ? "-" : "+"}${pad(Math.floor(Math.abs(minutes) / 60))}${pad(Math.abs(minutes) % 60)}`;
};
const dayOfYear = (date) =>
  Math.round((Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 1)) / 864e5) + 1;
const hour12 = (date) => date.getHours() % 12 || 12;
const DIRECTIVES = {
  Y: (d) => d.getFullYear(), y: (d) => pad(d.getFullYear() % 100), m: (d) => pad(d.getMonth() + 1),
  d: (d) => pad(d.getDate()), e: (d) => pad(d.getDate(), 2, " "), j: (d) => pad(dayOfYear(d), 3),
  H: (d) => pad(d.getHours()), k: (d) => pad(d.getHours(), 2, " "), I: (d) => pad(hour12(d)),
  l: (d) => pad(hour12(d), 2, " "), M: (d) => pad(d.getMinutes()), S: (d) => pad(d.getSeconds()),
  p: (d) => (d.getHours() < 12 ? "AM" : "PM"), P: (d) => (d.getHours() < 12 ? "am" : "pm"),
  B: named({ month: "long" }), b: named({ month: "short" }), h: named({ month: "short" }),
  A: named({ weekday: "long" }), a: named({ weekday: "short" }),
  z: zoneOffset, Z: (d) => zoneName(d), s: (d) => Math.floor(d / 1000),
  F: (d) => strftime(d, "%Y-%m-%d"), T: (d) => strftime(d, "%H:%M:%S"), R: (d) => strftime(d, "%H:%M"),
  D: (d) => strftime(d, "%m/%d/%y"), X: (d) => strftime(d, "%H:%M:%S"), x: (d) => strftime(d, "%m/%d/%y"),
  c: (d) => strftime(d, "%a %b %e %H:%M:%S %Y"), r: (d) => strftime(d, "%I:%M:%S %p"), n: () => "\n", t: () => "\t",
  "%": () => "%",
};
const strftime = (date, pattern) =>
  pattern.replace(/%([-_0]?)([A-Za-z%])/g, (whole, flag, letter) => {
    const write = DIRECTIVES[letter];
    if (!write) return whole;
    const text = String(write(date));
    if (flag === "-") return text.replace(/^[0 ]+(?=.)/, "");
    return flag === "_" ? text.replace(/^0+(?=.)/, (zeros) => " ".repeat(zeros.length)) : text;
  });
const zoneName = (date) => {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(date);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
};

const timeFormat = root.dataset.timeFormat;
window.cogworkerTimeFormat = timeFormat;
window.cogworkerTime = (date) => strftime(date, timeFormat);

const whole = (seconds) => {
  const two = (big, bigUnit, small, smallUnit) => `${big.toLocaleString("en")} ${bigUnit}${small ? ` ${small} ${smallUnit}` : ""}`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (seconds < 86400) return two(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "min");
  return two(Math.floor(seconds / 86400), "d", Math.floor((seconds % 86400) / 3600), "h");
};
const relative = (at, from = now()) => {
  const ahead = (at - from) / 1000;
  if (ahead > 0) return `in ${whole(Math.ceil(ahead))}`;
  return ahead > -1 ? "now" : `${whole(Math.floor(-ahead))} ago`;
};
// With what stands before a time to come; or that it is due.
const due = (before, at, from) => `${at > from ? before : "due "}${relative(at, from)}`;

const setText = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};
const count = (within) => {
  // One reading of the clock: what tells of the same time tells the same.
  const from = now();
  for (const time of within.querySelectorAll("time[data-cw-now]")) {
    const at = Date.parse(time.dateTime);
    const before = time.dataset.cwDue;
    if (!Number.isNaN(at)) setText(time, before === undefined ? relative(at, from) : due(before, at, from));
  }
  for (const span of within.querySelectorAll("[data-cw-since]")) {
    setText(span, whole(Math.max(0, Math.floor(from / 1000 - Number(span.dataset.cwSince)))));
  }
};
const localise = (within) => {
  for (const time of within.querySelectorAll("time[data-cw-time], time[data-cw-now]")) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    if (time.hasAttribute("data-cw-time")) {
      setText(time, strftime(date, timeFormat));
      time.title = `${relative(date.getTime())}, ${time.dateTime}`;
    } else {
      time.title = `${strftime(date, timeFormat)}, ${time.dateTime}`;
    }
  }
  count(within);
};

for (const zone of document.querySelectorAll("[data-cw-zone]")) {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const at = new Date(now());
  const offset = zoneOffset(at).replace(/^([+-])0?(\d+?)(\d\d)$/, (_, sign, h, m) => sign + h + (m === "00" ? "" : `:${m}`));
  zone.textContent = name === "UTC" ? "Times in UTC" : `Times in ${name} (${zoneName(at)}, UTC${offset})`;
}
localise(document);
setInterval(() => document.hidden || count(document), 1000);
