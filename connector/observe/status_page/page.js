'use strict';
// Shows what /status, /history and /config say. Text of the relay goes in as text only, never as HTML.
(() => {
  const statusEveryMs = 1000, historyEveryMs = 5000, answerWithinMs = 4000, goneAfterMs = 3000;
  const chartSeconds = 900, rateOverMs = 5000;
  const stateWords = {
    starting: 'starting', connecting: 'connecting to PostgreSQL', streaming: 'streaming from the slot',
    standby: 'another instance streams', waiting_for_sink: 'disconnected until the sink is back',
    draining: 'asked to stop, waiting for what is in flight',
  };

  const $ = (id) => document.getElementById(id);
  function put(id, text) {
    const element = $(id);
    if (element.textContent !== text) element.textContent = text;
  }
  function make(name, text = '', className = '') {
    const element = document.createElement(name);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  }
  function tone(id, value) {
    if ($(id).dataset.tone !== value) $(id).dataset.tone = value;
  }

  // ---- words for numbers --------------------------------------------------------------------------------------------
  const known = (value) => value !== null && value !== undefined;
  const count = (value) => value.toLocaleString('en-US', {maximumFractionDigits: value < 10 ? 1 : 0});
  function bytes(value) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit + 1 < units.length) {
      value /= 1024;
      ++unit;
    }
    return `${unit && Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
  }
  function duration(seconds) {
    if (seconds < 10) return `${seconds.toFixed(seconds > 0 && seconds < 0.1 ? 3 : 1)} s`;
    if (seconds < 60) return `${seconds.toFixed(0)} s`;
    const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
    const first = units.findIndex(([, size]) => seconds >= size);
    const [[big, size], [small, part]] = units.slice(first);
    const rest = Math.floor(seconds % size / part);
    return `${Math.floor(seconds / size)} ${big}${rest ? ` ${rest} ${small}` : ''}`;
  }
  const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');
  const minute = (ms) => new Date(ms).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'});
  const day = (ms) => new Date(ms).toLocaleString('en-GB');

  // ---- the state ----------------------------------------------------------------------------------------------------
  function showState(status) {
    const state = stateWords[status.state] || status.state;
    const active = status.role === 'active';
    const draining = status.state === 'draining';
    const now = !status.ready ? ['bad', '!', active ? 'Active, but not ready' : 'Not ready']
      : draining ? ['warn', '…', 'Draining']
      : active ? ['good', '✓', 'Active'] : ['calm', '○', status.state === 'standby' ? 'Standby' : 'Connecting'];
    tone('state', now[0]);
    put('mark', now[1]);
    put('headline', now[2]);
    const since = Date.parse(status.since);
    put('since', `${state}, since ${clock(since)} (${duration(Math.max(0, (Date.parse(status.time) - since) / 1000))})`);
    const reasons = $('reasons');
    if (reasons.dataset.shown !== JSON.stringify(status.not_ready)) {
      reasons.dataset.shown = JSON.stringify(status.not_ready);
      reasons.replaceChildren(...status.not_ready.map((reason) => make('li', reason)));
      reasons.hidden = status.not_ready.length === 0;
    }
    document.title = `${status.slot}: ${status.ready ? now[2].toLowerCase() : 'NOT READY'} – walrelay`;
    document.body.classList.remove('stale');
  }

  function showGone(since) {
    document.body.classList.add('stale');
    tone('state', 'bad');
    put('mark', '!');
    put('headline', `No answer since ${clock(since)}`);
    put('since', `for ${duration(Math.floor((Date.now() - since) / 1000))}; what is below is from before`);
    $('reasons').hidden = true;
    $('reasons').dataset.shown = '';
    document.title = 'no answer – walrelay';
  }

  // ---- the figures --------------------------------------------------------------------------------------------------
  const settled = (status) => status.outboxes.reduce((sum, o) => sum + o.delivered + o.dead_letter + o.skipped, 0);
  let marks = [];  // what was settled when, for the rate
  function rateNow(status) {
    const now = {time: Date.parse(status.time), events: settled(status)};
    if (marks.length && now.events < marks[marks.length - 1].events) marks = [];
    marks.push(now);
    while (marks.length > 2 && now.time - marks[1].time >= rateOverMs) marks.shift();
    const over = (now.time - marks[0].time) / 1000;
    return over > 0 ? (now.events - marks[0].events) / over : null;
  }

  function showFigures(status, rate) {
    const lag = status.lag;
    put('lag', known(lag.seconds) ? duration(lag.seconds) : 'not known');
    put('lag-more', known(lag.bytes) ? `${bytes(lag.bytes)} of WAL to confirm` : 'the server is not there to tell');
    put('rate', known(rate) ? count(rate) : '–');
    put('rate-more', `${count(settled(status))} since the start`);
    put('flight', count(status.in_flight.events));
    put('flight-more', `${bytes(status.in_flight.bytes)}${status.reading_paused ? ', reading is paused' : ''}`);
    const skipped = status.outboxes.reduce((sum, outbox) => sum + outbox.skipped, 0);
    put('dead', count(status.dead_letters));
    put('dead-more', `${count(skipped)} skipped`);
    tone('dead-box', status.dead_letters + skipped > 0 ? 'warn' : '');
    $('back-box').hidden = !known(status.write_back_pending_rows);
    const back = (result) => status.outboxes.reduce((sum, {write_back}) => sum + (write_back ? write_back[result] : 0), 0);
    put('back', count(back('written')));
    put('back-more', `${count(status.write_back_pending_rows || 0)} pending, ${count(back('failed'))} given up`);
    tone('back-box', back('failed') > 0 ? 'warn' : '');
    put('reconnects', count(status.reconnects.source + status.reconnects.sink));
    put('reconnects-more', `${count(status.reconnects.source)} to the server, ${count(status.reconnects.sink)} to the sink`);
  }

  function slotTone(status) {
    const left = status.slot_safe_bytes, kept = status.slot_retained_bytes;
    if (status.slot_wal_status === 'unreserved' || status.slot_wal_status === 'lost') return 'bad';
    if (!known(left)) return '';
    if (left <= 0) return 'bad';
    return left < (left + kept) / 5 || (known(status.slot_seconds_until_lost) && status.slot_seconds_until_lost < 7200)
      ? 'warn' : '';
  }

  function showSlot(status) {
    const left = status.slot_safe_bytes, until = status.slot_seconds_until_lost;
    put('kept', known(status.slot_retained_bytes) ? bytes(status.slot_retained_bytes) : 'not known');
    const untilText = known(until) ? `in ${duration(until)}` : known(left) ? 'not foreseeable: no steady growth' : '–';
    put('kept-more', known(left) && left <= 0 ? 'past its limit: may be lost any moment' : known(left) ? `${bytes(left)} left${known(until) ? `, lost ${untilText}` : ''}`
      : known(status.slot_retained_bytes) ? 'no limit is set' : '');
    tone('kept-box', slotTone(status));
    put('wal-status', status.slot_wal_status || 'not known');
    put('safe', known(left) ? bytes(left) : known(status.slot_retained_bytes) ? 'no limit (max_slot_wal_keep_size)' : 'not known');
    put('until-lost', untilText);
    put('server-lsn', status.positions.server || 'not known');
    put('frontier-lsn', status.positions.frontier || 'not known');
    put('confirmed-lsn', status.positions.confirmed || 'not known');
  }

  function showOutboxes(status) {
    $('outboxes').replaceChildren(...status.outboxes.map((outbox) => {
      const row = document.createElement('tr');
      const name = make('th', outbox.name);
      name.scope = 'row';
      row.append(name, make('td', count(outbox.delivered)), make('td', count(outbox.dead_letter)), make('td', count(outbox.skipped)));
      return row;
    }));
    put('unmapped', status.unmapped_changes ? `${count(status.unmapped_changes)} rows of tables that no outbox names were passed over` : '');
  }

  function showMessages(messages) {
    const shown = JSON.stringify(messages);
    if ($('messages').dataset.shown === shown) return;
    $('messages').dataset.shown = shown;
    $('no-messages').hidden = messages.length > 0;
    $('messages').replaceChildren(...messages.map((message) => {
      const item = make('li', '', message.level);
      const head = document.createElement('p');
      const times = message.times > 1 ? `, ${message.times} times` : '';
      head.append(make('strong', message.level === 'error' ? 'Error' : 'Warning'), ` ${day(Date.parse(message.time))}${times} `,
        make('code', message.event));
      item.append(head, make('p', message.text));
      return item;
    }));
  }

  // ---- the charts ---------------------------------------------------------------------------------------------------
  function svg(name, attributes) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  // Points [x, value]; a value that is not known, or a pause of the relay, breaks the curve.
  function curves(points) {
    const parts = [];
    let last = -Infinity;
    for (const [x, value] of points) {
      if (!known(value)) {
        last = -Infinity;
        continue;
      }
      if (x - last > 15) parts.push([]);
      parts[parts.length - 1].push([x, value]);
      last = x;
    }
    return parts;
  }

  function draw(id, points, atLeast, shades) {
    const values = points.map(([, value]) => value).filter(known);
    const top = Math.max(atLeast, ...values) * 1.1;
    const at = ([x, value]) => `${x.toFixed(1)} ${(100 - value / top * 98).toFixed(2)}`;
    const content = shades.map(([from, to]) => svg('rect', {class: 'shade', x: from, y: 0, width: Math.max(2, to - from), height: 100}));
    for (const y of [25, 50, 75]) content.push(svg('line', {class: 'grid', x1: 0, x2: chartSeconds, y1: y, y2: y}));
    for (const part of curves(points)) {
      const path = part.length > 1 ? `M${part.map(at).join('L')}` : `M${at(part[0])}h3`;
      content.push(svg('path', {class: 'area', d: `${path}V100H${part[0][0].toFixed(1)}Z`}), svg('path', {class: 'curve', d: path}));
    }
    $(id).replaceChildren(...content);
  }

  // "now 0.2 s, at most 4.1 s at 12:03:10"
  function sayCurve(id, points, end, words) {
    const seen = points.filter(([, value]) => known(value));
    if (!seen.length) return put(id, 'not known yet');
    const [x, most] = seen.reduce((best, point) => point[1] > best[1] ? point : best);
    const last = points[points.length - 1][1];
    return put(id, `now ${known(last) ? words(last) : 'not known'}, at most ${words(most)} at ${clock(end - (chartSeconds - x) * 1000)}`);
  }

  function showMinutes(samples) {
    const minutes = new Map();
    for (const sample of samples) {
      const key = minute(sample.time_ms);
      minutes.set(key, [...(minutes.get(key) || []), sample]);
    }
    const cell = (values, words) => values.length ? words(Math.max(...values)) : 'not known';
    $('minutes').replaceChildren(...[...minutes].reverse().map(([key, of]) => {
      const row = document.createElement('tr');
      const name = make('th', key);
      name.scope = 'row';
      const rates = of.map((sample) => sample.rate).filter(known);
      const mean = rates.length ? count(rates.reduce((sum, rate) => sum + rate, 0) / rates.length) : 'not known';
      row.append(name, make('td', cell(of.map((s) => s.lag_seconds).filter(known), duration)), make('td', mean),
        make('td', cell(of.map((s) => s.retained_bytes).filter(known), bytes)), make('td', of.every((s) => s.ready) ? 'yes' : 'not always'));
      return row;
    }));
  }

  function readSamples(history) {
    const samples = history.samples.map((row) => Object.fromEntries(history.fields.map((name, i) => [name, row[i]])));
    samples.forEach((sample, i) => {
      const before = samples[i - 1];
      sample.rate = before && sample.events >= before.events && sample.time_ms > before.time_ms
        ? (sample.events - before.events) * 1000 / (sample.time_ms - before.time_ms) : null;
    });
    return samples;
  }

  function shadesOf(samples, x, step) {
    const shades = [];
    for (const sample of samples.filter((one) => !one.ready)) {
      const last = shades[shades.length - 1];
      if (last && x(sample) - last[1] < step * 2) last[1] = x(sample);
      else shades.push([Math.max(0, x(sample) - step), x(sample)]);
    }
    return shades;
  }

  let samples = [];
  let step = 5;
  function showHistory(status, rate) {
    const end = Date.parse(status.time);
    const live = {time_ms: end, ready: status.ready, lag_seconds: status.lag.seconds, retained_bytes: status.slot_retained_bytes, rate};
    const all = [...samples.filter((sample) => end - sample.time_ms < chartSeconds * 1000 && sample.time_ms < end), live];
    const x = (sample) => chartSeconds - (end - sample.time_ms) / 1000;
    const shades = shadesOf(all, x, step);
    for (const [id, name, atLeast, words] of [['lag', 'lag_seconds', 1, duration], ['rate', 'rate', 10, count], ['kept', 'retained_bytes', 2 ** 24, bytes]]) {
      const points = all.map((sample) => [x(sample), sample[name]]);
      draw(`${id}-chart`, points, atLeast, shades);
      sayCurve(`${id}-text`, points, end, words);
    }
    const notReady = shades.reduce((sum, [from, to]) => sum + to - from, 0);
    put('shaded', notReady ? `Shaded: not ready, for about ${duration(notReady)} in all.` : 'It was ready all the time.');
    showMinutes(all);
  }

  // ---- asking -------------------------------------------------------------------------------------------------------
  async function ask(path) {
    const reply = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(answerWithinMs)});
    if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
    return reply;
  }

  let answered = Date.now();
  let historyDue = 0;
  let process = '';  // the start of the one whose configuration is shown
  async function turn() {
    const status = await (await ask('/status')).json();
    answered = Date.now();
    if (process !== status.started) {
      put('config', await (await ask('/config')).text());
      process = status.started;
      marks = [];
      historyDue = 0;
    }
    if (Date.now() >= historyDue) {
      const history = await (await ask('/history')).json();
      samples = readSamples(history);
      step = history.interval_seconds;
      historyDue = Date.now() + historyEveryMs;
    }
    const rate = rateNow(status);
    put('slot', status.slot);
    put('server', `${status.server ? `PostgreSQL ${status.server.version} at ${status.server.host}${status.server.tls ? ' with TLS' : ''}` : 'no server yet'}, ${status.sink}`);
    put('version', `walrelay ${status.version}, running since ${day(Date.parse(status.started))}`);
    showState(status);
    showFigures(status, rate);
    showSlot(status);
    showOutboxes(status);
    showMessages(status.messages);
    showHistory(status, rate);
  }

  async function poll() {
    try {
      await turn();
    } catch {
      if (Date.now() - answered >= goneAfterMs) showGone(answered);
    }
    setTimeout(poll, statusEveryMs);
  }
  poll();
})();
