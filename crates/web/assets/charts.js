// The two charts of Overview: volume on top, failures below on an axis of their own, or they would drown.
(() => {
  "use strict";
  const canvases = [...document.querySelectorAll("canvas[data-cw-chart]")];
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) =>
    value >= 1e6 ? `${+(value / 1e6).toFixed(1)} M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)} k` : String(value);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const charts = new Map();
  window.cogworkerCharts = charts;

  const labelOf = (kind, at) => {
    const date = new Date(at);
    return kind === "hours"
      ? date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
      : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
  };
  const titleOf = (kind, at) => {
    const date = new Date(at);
    return kind === "hours"
      ? date.toLocaleString("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" })
      : date.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  };

  const datasets = (kind, data) => {
    const [main, bad] = kind === "hours" ? [data.processed, data.failed] : [data.success, data.failed];
    const last = main.length - 1;
    const volume =
      kind === "hours"
        ? {
            type: "line", label: "Processed", data: main, yAxisID: "y", fill: true, tension: 0, borderWidth: 1.75,
            pointRadius: 0, pointHitRadius: 12, pointHoverRadius: 3,
            // The current hour is not over.
            segment: { borderDash: (at) => (at.p1DataIndex === last ? [2, 4] : undefined) },
          }
        : { type: "bar", label: "Success", data: main, yAxisID: "y", categoryPercentage: 0.9, barPercentage: 0.75, borderSkipped: false, grouped: false };
    const failures = { type: "bar", label: "Failed", data: bad, yAxisID: "bad", categoryPercentage: 0.9, barPercentage: 0.75, borderSkipped: false, grouped: false };
    return [volume, failures];
  };
  const colour = (chart, kind) => {
    const [volume, failures] = chart.data.datasets;
    const last = volume.data.length - 1;
    const unless = (full, part) => volume.data.map((_, at) => (at === last ? part : full));
    if (kind === "hours") {
      volume.borderColor = token("--chart-main");
      volume.backgroundColor = token("--chart-area");
      volume.pointBackgroundColor = token("--chart-main");
    } else {
      volume.backgroundColor = unless(token("--chart-bar"), token("--chart-area"));
      volume.borderColor = token("--chart-bar");
      volume.borderWidth = unless(0, 1);
    }
    failures.backgroundColor = unless(token("--chart-bad"), token("--danger-soft"));
    failures.borderColor = token("--chart-bad");
    failures.borderWidth = unless(0, 1);
    const { x, y, bad } = chart.options.scales;
    for (const axis of [x, y, bad]) axis.ticks.color = token("--text-3");
    bad.ticks.color = token("--danger");
    for (const axis of [y, bad]) axis.grid.color = token("--chart-grid");
    x.border.color = token("--line-strong");
    Object.assign(chart.options.plugins.tooltip, {
      backgroundColor: token("--raised"), titleColor: token("--text"), bodyColor: token("--text-2"),
      borderColor: token("--line-strong"), borderWidth: 1,
    });
  };

  const create = (canvas, data) => {
    const kind = canvas.dataset.cwChart;
    const font = { family: getComputedStyle(document.body).fontFamily, size: 12 };
    const axis = (weight, ticks) => ({
      type: "linear", position: "left", stack: "all", stackWeight: weight, beginAtZero: true,
      border: { display: false }, grid: { drawTicks: false }, afterFit: (scale) => { scale.width = 44; },
      ticks: { font, padding: 8, maxTicksLimit: ticks, precision: 0, callback: short, includeBounds: true },
    });
    const chart = new Chart(canvas, {
      data: { labels: data.times.map((at) => labelOf(kind, at)), datasets: datasets(kind, data) },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, interaction: { mode: "index", intersect: false },
        layout: { padding: 0 },
        scales: {
          x: { border: {}, grid: { display: false }, ticks: { font, maxRotation: 0, autoSkipPadding: 36 } },
          bad: { ...axis(1, 2), suggestedMax: 4, afterBuildTicks: (scale) => { scale.ticks = [{ value: 0 }, { value: scale.max }]; } },
          // Keeps the labels of the two apart.
          gap: { ...axis(0.4, 0), ticks: { display: false }, grid: { display: false } },
          y: { ...axis(3, 4), suggestedMax: 4 },
        },
        plugins: {
          legend: { display: false },
          tooltip: {
            padding: 10, cornerRadius: 6, titleFont: font, bodyFont: font, displayColors: false,
            callbacks: {
              title: ([item]) => titleOf(kind, charts.get(canvas).times[item.dataIndex]),
              label: (item) => `${item.dataset.label} ${item.parsed.y.toLocaleString("en")}`,
            },
          },
        },
      },
    });
    charts.set(canvas, { chart, times: data.times, kind });
    colour(chart, kind);
    chart.update("none");
  };
  const update = (canvas, data) => {
    const known = charts.get(canvas);
    if (!known) return create(canvas, data);
    const { chart, kind } = known;
    known.times = data.times;
    chart.data.labels = data.times.map((at) => labelOf(kind, at));
    datasets(kind, data).forEach((set, at) => { chart.data.datasets[at].data = set.data; });
    colour(chart, kind);
    chart.update(still ? "none" : undefined);
  };

  const tags = new Map();
  const load = async (canvas) => {
    const url = canvas.dataset.src;
    const answer = await fetch(url, { headers: tags.has(url) ? { "If-None-Match": tags.get(url) } : {}, cache: "no-store" });
    if (!answer.ok) return;
    tags.set(url, answer.headers.get("ETag"));
    const data = await answer.json();
    if (canvas.dataset.src !== url) return;
    update(canvas, data);
    const panel = canvas.closest(".panel");
    for (const key of panel.querySelectorAll("[data-cw-sum]")) {
      key.textContent = data[key.dataset.cwSum].reduce((sum, value) => sum + value, 0).toLocaleString("en");
    }
  };
  const loadAll = () => canvases.forEach((canvas) => load(canvas).catch(() => {}));

  // A period is a link; with a script only the chart changes.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-cw-period]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const canvas = document.getElementById("overview-runs-canvas");
    canvas.dataset.src = link.dataset.cwPeriod;
    for (const other of link.parentElement.children) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    history.replaceState(history.state, "", link.href);
    load(canvas).catch(() => {});
  });
  document.addEventListener("cw:tick", loadAll);
  document.addEventListener("cw:theme", () => {
    for (const { chart, kind } of charts.values()) {
      colour(chart, kind);
      chart.update("none");
    }
  });
  loadAll();
})();
