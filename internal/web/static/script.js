// The page works without this script. With it, changes appear at once: the page loads itself again and takes
// over the new <main>. Words of others are only handled as nodes that the parser made of our own server's page,
// or as textContent.
"use strict";
(() => {
  const link = document.getElementById("link");
  const skew = Date.now() - Number(document.body.dataset.now); // of our clock to the server's
  const keptLog = 2000; // pieces of a log that are kept on the page
  let asking = false, again = false, polling = false;

  const span = (ms) => {
    let s = Math.round(ms / 1000);
    const two = (n) => String(n).padStart(2, "0");
    if (s < 0) return "-" + span(-ms);
    if (s < 60) return s + "s";
    if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
    const m = Math.floor(s / 60);
    if (s < 86400) return Math.floor(m / 60) + "h" + two(m % 60) + "m";
    return Math.floor(m / 1440) + "d" + two(Math.floor(m / 60) % 24) + "h";
  };

  const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };

  const tick = () => {
    const now = Date.now() - skew;
    for (const t of document.querySelectorAll("time[data-since]")) set(t, span(now - Number(t.dataset.since)));
    for (const t of document.querySelectorAll("time[data-at]")) {
      const ago = now - Number(t.dataset.at);
      set(t, ago < 0 ? "in " + span(-ago) : span(ago) + " ago");
    }
    for (const p of document.querySelectorAll("progress[data-since]")) p.value = (now - Number(p.dataset.since)) / 1000;
  };

  const say = (text) => { set(link, text); link.hidden = text === ""; };

  // The page does not change under a person who selects or types.
  const busy = () => {
    const at = document.activeElement;
    if (at && at.closest("main form")) return true;
    const marked = document.getSelection();
    return marked && !marked.isCollapsed && document.getElementById("main").contains(marked.anchorNode);
  };

  // Both pages have the same parts in the same order, unless something came or went.
  const scrolled = (main) => [...main.querySelectorAll(".scroll, .timeline")];

  const take = (page) => {
    const before = document.getElementById("main"), after = page.getElementById("main");
    if (!after) return;
    const focused = document.activeElement, log = document.getElementById("log"), shown = page.getElementById("log");
    const lefts = scrolled(before).map((e) => e.scrollLeft), y = window.scrollY;
    const place = log && log.scrollTop, atEnd = log && isAtEnd(log);
    const live = page.body.dataset.changes !== "";
    if (log && shown && live) shown.replaceWith(log); // the log that a person follows stays
    before.replaceWith(after);
    scrolled(after).forEach((e, i) => { e.scrollLeft = lefts[i] || 0; });
    const now = document.getElementById("log");
    if (log && now) now.scrollTop = atEnd ? now.scrollHeight : place;
    if (focused && focused !== document.body && !focused.isConnected) {
      const same = focused.id ? document.getElementById(focused.id)
        : [...after.querySelectorAll("a[href]")].find((a) => a.getAttribute("href") === focused.getAttribute("href"));
      if (same) same.focus({ preventScroll: true });
    }
    window.scrollTo(0, y);
    const asOf = page.getElementById("as-of");
    if (asOf) document.getElementById("as-of").replaceWith(asOf);
    document.title = page.title;
    document.body.dataset.changes = page.body.dataset.changes;
    tick();
  };

  const refresh = async () => {
    if (asking || busy()) { again = true; return; }
    asking = true;
    again = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (busy()) again = true; else take(page);
      say("");
    } catch {
      say("no answer: trying again");
      again = true;
    } finally {
      asking = false;
    }
  };

  const isAtEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < 40;

  const append = (text, to) => {
    const log = document.getElementById("log");
    if (!log) { refresh(); return; }
    log.dataset.to = to; // the offset of the next part
    const atEnd = isAtEnd(log);
    log.appendChild(document.createTextNode(text));
    while (log.childNodes.length > keptLog) log.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  };

  // A page that nobody sees asks for nothing.
  const poll = async () => {
    const path = document.body.dataset.changes, log = document.getElementById("log");
    if (!path || polling || document.hidden) return;
    polling = true;
    try {
      const answer = await fetch(log ? path + "?from=" + (log.dataset.to || 0) : path, { cache: "no-store" });
      const change = answer.ok ? await answer.json() : {};
      say("");
      if (change.reset) location.reload();
      if (change.log) append(change.log, change.to);
      if (change.version !== document.getElementById("main").dataset.version) refresh();
    } catch {
      say("no connection: trying again");
    } finally {
      polling = false;
    }
  };

  setInterval(() => { tick(); if (again) refresh(); }, 1000);
  setInterval(poll, 2000);
  document.addEventListener("visibilitychange", poll);
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
  const log = document.getElementById("log");
  if (log && document.body.dataset.changes) log.scrollTop = log.scrollHeight;
  poll();
})();
