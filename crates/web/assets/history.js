// History: the runs as a grid, where there is room for one; the plain table stays for all others.
(() => {
  "use strict";
  const root = document.documentElement;
  const gridBox = document.getElementById("history-grid-box");
  const gridElement = document.getElementById("history-grid");

  const exactly = (ms) => {
    const parts = [["h", 3600000], ["m", 60000], ["s", 1000], ["ms", 1]];
    let left = Math.max(0, Math.round(ms));
    const text = [];
    for (const [unit, size] of parts) {
      const count = Math.floor(left / size);
      left -= count * size;
      if (count) text.push(`${count}${unit}`);
    }
    return text.join(" ") || "0ms";
  };

  const trace = document.getElementById("cw-backtrace");
  const showRun = (run) => {
    trace.querySelector("h2").textContent = run.class || "(no class)";
    const error = trace.querySelector("[data-cw-error]");
    const name = document.createElement("b");
    name.textContent = run.error_class ?? "";
    error.replaceChildren(name, run.error_message ?? "");
    const lines = (run.backtrace ?? []).slice(0, 200).map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    });
    trace.querySelector("ol").replaceChildren(...lines);
    trace.querySelector("ol").hidden = lines.length === 0;
    trace.querySelector("[data-cw-job]").href = gridElement.dataset.cwJobs + encodeURIComponent(run.jid);
    trace.showModal();
  };

  const icon = (name) => {
    const svg = document.getElementById("cw-banner-line").content.querySelector("svg").cloneNode(true);
    svg.querySelector("use").setAttribute("href", `${root.dataset.icons}#i-${name}`);
    return svg;
  };
  // The grid's own are a font inside of its stylesheet, which the page's policy refuses.
  const icons = Object.fromEntries(
    Object.entries({
      sortAscending: "sort", sortDescending: "sort", filter: "filter", menu: "filter", first: "first", last: "last",
      previous: "left", next: "right", smallDown: "down", cancel: "x", asterisk: "info", dropNotAllowed: "x",
    }).map(([name, ours]) => [name, () => icon(ours)]),
  );
  const cell = {
    class: ({ value, data }) => {
      if (!data) return "";
      const link = document.createElement("a");
      link.className = "name";
      link.tabIndex = -1;
      link.href = gridElement.dataset.cwJobs + encodeURIComponent(data.jid);
      link.textContent = value || "(no class)";
      return link;
    },
    status: ({ value }) => {
      if (!value) return "";
      const state = document.createElement("span");
      state.className = value === "failed" ? "st st--bad" : "st st--ok";
      state.append(icon(value === "failed" ? "x" : "check"), value === "failed" ? "Failed" : "Success");
      return state;
    },
    error: ({ value, data }) => {
      if (!value) return "";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "linkish";
      button.tabIndex = -1;
      button.textContent = value;
      button.addEventListener("click", () => showRun(data));
      return button;
    },
  };

  const textFilter = {
    filter: "agTextColumnFilter",
    filterParams: {
      filterOptions: ["contains", "notContains", "equals", "notEqual", "startsWith", "endsWith", "blank", "notBlank"],
      debounceMs: 400,
      buttons: ["reset"],
      maxNumConditions: 2,
    },
  };
  const numberFilter = {
    filter: "agNumberColumnFilter",
    filterParams: {
      filterOptions: ["equals", "notEqual", "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual", "inRange"],
      debounceMs: 400,
      buttons: ["reset"],
      maxNumConditions: 2,
    },
  };
  const columns = [
    { field: "finished_at", headerName: "Finished", sortingOrder: ["desc", "asc"], minWidth: 185, width: 185, filter: false,
      valueFormatter: ({ value }) => (value ? window.cogworkerTime(new Date(value * 1000)) : "") },
    { field: "class", headerName: "Class", flex: 2, minWidth: 150, cellRenderer: cell.class, ...textFilter },
    { field: "queue", headerName: "Queue", flex: 1.4, minWidth: 110, ...textFilter },
    { field: "jid", headerName: "JID", flex: 1.2, minWidth: 110, cellClass: "mono muted", ...textFilter },
    { field: "args", headerName: "Args", flex: 2, minWidth: 120, cellClass: "mono", ...textFilter },
    { field: "status", headerName: "Status", width: 110, minWidth: 100, filter: false, cellRenderer: cell.status },
    { field: "duration", headerName: "Duration", width: 130, minWidth: 110, type: "rightAligned", headerTooltip: "In ms, when filtered",
      valueFormatter: ({ value }) => (value === undefined ? "" : exactly(value)), ...numberFilter },
    { field: "error", headerName: "Error", flex: 2.4, minWidth: 140, cellRenderer: cell.error, ...textFilter },
  ];

  // The order as addresses have it: `-duration,class`.
  const readSort = (text) =>
    text.split(",").filter(Boolean).map((name) => ({ colId: name.replace(/^-/, ""), sort: name.startsWith("-") ? "desc" : "asc" }));
  const writeSort = (model) => {
    const text = model.map(({ colId, sort }) => `${sort === "desc" ? "-" : ""}${colId}`).join(",");
    return text === "-finished_at" ? "" : text;
  };
  const put = (url, name, value) => (value ? url.searchParams.set(name, value) : url.searchParams.delete(name));
  const written = (url) => `${url.pathname}${url.search}`;
  // Filters, order and page of the grid stand in the address, in that of the table beside it, and in the links of this page.
  const remember = () => {
    const filter = grid.getFilterModel();
    const sort = grid.getColumnState().filter((column) => column.sort).sort((a, b) => a.sortIndex - b.sortIndex);
    const own = grid.paginationGetPageSize() === Number(gridElement.dataset.cwPageSize);
    const page = own ? grid.paginationGetCurrentPage() : 0;
    const list = (href) => {
      const url = new URL(href, location.href);
      put(url, "filter", Object.keys(filter).length ? JSON.stringify(filter) : "");
      put(url, "sort", writeSort(sort));
      url.searchParams.delete("page");
      return url;
    };
    const here = list(location.href);
    put(here, "page", page > 0 ? String(page + 1) : "");
    history.replaceState(history.state, "", written(here));
    for (const link of document.querySelectorAll("#cw-main .head a, #cw-main .lead a:not([data-cw-plain])")) {
      if (link.pathname === location.pathname) link.href = written(list(link.href));
    }
    const block = document.getElementById("history-content");
    if (block.dataset.cwLive) block.dataset.cwLive = written(list(block.dataset.cwLive));
  };

  const rowsFrom = (pageSize) => ({
    getRows: async ({ startRow, endRow, sortModel, filterModel, successCallback, failCallback }) => {
      const url = new URL(gridElement.dataset.cwGrid, location.href);
      url.searchParams.delete("sort");
      url.searchParams.set("start", startRow);
      url.searchParams.set("end", Math.min(endRow, startRow + pageSize));
      url.searchParams.set("sort", JSON.stringify(sortModel));
      url.searchParams.set("filter", JSON.stringify(filterModel));
      try {
        const answer = await fetch(url, { cache: "no-store", credentials: "same-origin" });
        if (!answer.ok) throw new Error(answer.statusText);
        const { rows, total } = await answer.json();
        successCallback(rows, total);
        if (total === 0) grid.showNoRowsOverlay();
        else grid.hideOverlay();
      } catch {
        failCallback();
      }
    },
  });

  let grid = null;
  const wide = matchMedia("(min-width: 641px)");
  const startGrid = () => {
    if (grid || !gridElement || !wide.matches) return;
    gridBox.hidden = false;
    document.body.classList.add("has-grid");
    const { cwPageSize, cwPage, cwFilter, cwSort } = gridElement.dataset;
    const [pageSize, firstPage] = [Number(cwPageSize), Number(cwPage) - 1];
    const sizes = [...new Set([10, 25, 50, 100, pageSize])].sort((a, b) => a - b);
    grid = agGrid.createGrid(gridElement, {
      columnDefs: columns,
      defaultColDef: { sortable: true, resizable: true, suppressHeaderMenuButton: true, tooltipValueGetter: ({ value, valueFormatted }) => valueFormatted ?? value },
      rowModelType: "infinite",
      datasource: rowsFrom(1000),
      cacheBlockSize: pageSize,
      // How many rows there are is not known yet: enough for the page that it begins with.
      infiniteInitialRowCount: firstPage * pageSize + 1,
      initialState: {
        // Widths stay those of the columns.
        partialColumnState: true,
        filter: { filterModel: cwFilter ? JSON.parse(cwFilter) : {} },
        sort: { sortModel: cwSort ? readSort(cwSort) : [{ colId: "finished_at", sort: "desc" }] },
        pagination: { page: firstPage, pageSize },
      },
      maxBlocksInCache: 1,
      pagination: true,
      paginationPageSize: pageSize,
      paginationPageSizeSelector: sizes,
      domLayout: "normal",
      suppressCellFocus: false,
      // One stop for Tab: arrows go from cell to cell, Enter does what a click on the cell's link or button does.
      tabToNextCell: () => false,
      onCellKeyDown: ({ event }) => event.key === "Enter" && event.target.querySelector?.("a, button")?.click(),
      onGridSizeChanged: ({ api, clientWidth }) => {
        api.setColumnsVisible(["jid"], clientWidth >= 1150);
        api.setColumnsVisible(["args"], clientWidth >= 1000);
      },
      enableCellTextSelection: true,
      icons,
      multiSortKey: "ctrl",
      overlayNoRowsTemplate: "<span>No run matches</span>",
      onPaginationChanged: ({ api, newPageSize }) => {
        if (newPageSize) api.setGridOption("cacheBlockSize", api.paginationGetPageSize());
        if (grid) remember();
      },
      onFilterChanged: () => remember(),
      onSortChanged: () => remember(),
    });
    window.cogworkerHistory = grid;
  };
  wide.addEventListener("change", startGrid);
  startGrid();
  document.addEventListener("cw:tick", () => {
    const isInUse = document.querySelector("dialog[open], .ag-popup .ag-filter") || !getSelection().isCollapsed;
    if (grid && gridBox.offsetParent !== null && window.cogworkerLive && !isInUse) grid.refreshInfiniteCache();
  });
})();
