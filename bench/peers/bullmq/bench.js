// BullMQ: a job's lock is renewed while it runs, and a job whose lock lapsed is put back.
//
// The protocol is described in bench/peers/README.md.

'use strict';

const fs = require('node:fs');
const { parseArgs } = require('node:util');
const { Queue, Worker } = require('bullmq');

const NUMBER = 12345;
const FAILS_EVERY = 5;
const PRODUCERS = 50;
const BULK = 1000;
const WARM_UP = 20;
const PICK_UP_PAUSE_MS = 5;
const DUE_WITHIN_MS = 20_000;
const DUE_LEAD_MS = 2_000;
const DUE_IN_MS = 5_000;
const DUE_KEY = 'bench:due';
const NUMBERED_JOB_MS = 20;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nowMs = () => performance.timeOrigin + performance.now();
const queueName = (number) => (number === 0 ? 'default' : `queue${number}`);
const payload = (number = NUMBER) => ({ args: ['a string of some length', number, true] });
const line = (text) => fs.writeSync(1, `${text}\n`);
const report = (result) => line(JSON.stringify(result));

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      redis: { type: 'string', default: 'redis://127.0.0.1:6379' },
      mode: { type: 'string', default: 'default' },
      jobs: { type: 'string', default: '10000' },
      concurrency: { type: 'string', default: '10' },
      queues: { type: 'string', default: '1' },
      limit: { type: 'string' },
      file: { type: 'string' },
    },
  });
  const [command, workload] = positionals;
  const options = { ...values, command, workload };
  options.limit ??= ['drain', 'drain_fail'].includes(workload) ? 850 : 60;
  for (const name of ['jobs', 'concurrency', 'queues', 'limit']) options[name] = Number(options[name]);
  if (!['safe', 'default'].includes(options.mode)) throw new Error(`--mode: expected safe or default, found ${options.mode}`);
  const url = new URL(options.redis);
  options.connection = {
    host: url.hostname,
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    ...(url.password ? { username: decodeURIComponent(url.username) || undefined, password: decodeURIComponent(url.password) } : {}),
    // What BullMQ asks of a worker's connection.
    maxRetriesPerRequest: null,
  };
  return options;
}

// What a job is pushed with. Both modes put a dead worker's jobs back; `safe` is set up as its guide to production says.
function jobOptions(options) {
  const failing = options.workload === 'drain_fail';
  return {
    // Finished jobs stay in Redis for ever by default.
    ...(options.mode === 'safe' ? { removeOnComplete: true, removeOnFail: { age: 24 * 3600 } } : {}),
    // Later than the measurement ends.
    ...(failing ? { attempts: 25, backoff: { type: 'fixed', delay: 600_000 } } : {}),
  };
}

function openQueues(options) {
  return Array.from({ length: options.queues }, (_, number) => new Queue(queueName(number), { connection: options.connection }));
}

async function addBulk(queue, options, count, jobOf) {
  for (let first = 0; first < count; first += BULK) {
    const batch = [];
    for (let number = first; number < Math.min(count, first + BULK); number += 1) batch.push(jobOf(number));
    await queue.addBulk(batch);
  }
}

async function fill(options) {
  const numbered = ['drain_fail', 'numbers'].includes(options.workload);
  if (!numbered && !['drain', 'delayed_due'].includes(options.workload)) return;
  const [queue] = openQueues(options);
  const delayed = options.workload === 'delayed_due';
  const due = Date.now() + DUE_IN_MS;
  const delay = () => {
    const timestamp = Date.now();
    return delayed ? { timestamp, delay: due - timestamp } : {};
  };
  await addBulk(queue, options, options.jobs, (number) => ({
    name: 'NoopJob',
    data: payload(numbered ? number : NUMBER),
    opts: { ...jobOptions(options), ...delay() },
  }));
  if (delayed) await (await queue.client).set(DUE_KEY, due);
  await queue.close();
}

// The clocks inside the handler.
class Meter {
  constructor(expected) {
    this.expected = expected;
    this.done = 0;
    this.reruns = 0;
    this.seen = new Set();
    this.starts = new Map();
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  begin() {
    if (this.begun === undefined) this.begun = nowMs();
  }

  add() {
    this.done += 1;
    if (this.done === this.expected) {
      this.ended = nowMs();
      this.finish();
    }
  }

  // Counts the first run of each job; further ones are counted apart.
  addOnce(number) {
    if (this.seen.has(number)) {
      this.reruns += 1;
    } else {
      this.seen.add(number);
      this.add();
    }
  }

  async wait(limitMs) {
    let timer;
    await Promise.race([this.finished, new Promise((resolve) => { timer = setTimeout(resolve, limitMs); })]);
    clearTimeout(timer);
    return this.ended !== undefined;
  }

  // A figure about all jobs cannot be had from a part of them.
  reportUnfinished(limitMs) {
    report({ unsupported: `only ${this.done} of ${this.expected} jobs had run after ${limitMs / 1000} s` });
  }

  rest() {
    const unfinished = this.expected - this.done;
    return { ...(unfinished > 0 ? { unfinished } : {}), ...(this.reruns > 0 ? { reruns: this.reruns } : {}) };
  }
}

function reportLatency(times) {
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.max(0, Math.ceil(times.length * share) - 1)];
  report({ p50_ms: at(0.5), p99_ms: at(0.99) });
}

function handler(options, meter) {
  const file = options.file && fs.openSync(options.file, 'a');
  switch (options.workload) {
    case 'pickup':
    case 'delayed_late':
      return async (job) => {
        const start = nowMs();
        const number = job.data.args[1];
        if (!meter.starts.has(number)) meter.starts.set(number, start);
        meter.addOnce(number);
      };
    case 'drain_fail':
      return async (job) => {
        meter.begin();
        const number = job.data.args[1];
        meter.addOnce(number);
        if (number % FAILS_EVERY === 0) throw new Error('it fails on purpose');
      };
    case 'numbers':
      return async (job) => {
        await sleep(NUMBERED_JOB_MS);
        fs.writeSync(file, `${job.data.args[1]}\n`);
      };
    default:
      return async () => {
        meter.begin();
        meter.add();
      };
  }
}

async function pushes(options) {
  const [queue] = openQueues(options);
  await queue.waitUntilReady();
  line('ready');
  const begun = nowMs();
  const opts = jobOptions(options);
  if (options.workload === 'push_1') {
    for (let number = 0; number < options.jobs; number += 1) await queue.add('NoopJob', payload(), opts);
  } else if (options.workload === 'push_50') {
    let left = options.jobs;
    const producer = async () => {
      while (left > 0) {
        left -= 1;
        await queue.add('NoopJob', payload(), opts);
      }
    };
    await Promise.all(Array.from({ length: PRODUCERS }, producer));
  } else {
    await addBulk(queue, options, options.jobs, () => ({ name: 'NoopJob', data: payload(), opts }));
  }
  report({ seconds: (nowMs() - begun) / 1000, jobs: options.jobs });
}

// When each job of `delayed_late` is due: the same numbers as the other peers draw.
function dueOffsetsMs(count) {
  let state = 42n;
  return Array.from({ length: count }, () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return (Number(state >> 33n) / 2 ** 31) * DUE_WITHIN_MS;
  });
}

async function work(options) {
  const expected = { pickup: options.jobs + WARM_UP, idle: Infinity, numbers: Infinity }[options.workload] ?? options.jobs;
  const meter = new Meter(expected);
  const perform = handler(options, meter);
  const queues = openQueues(options);
  const workers = queues.map(
    (queue) =>
      new Worker(queue.name, perform, { connection: options.connection, concurrency: options.concurrency, autorun: false }),
  );
  for (const worker of workers) worker.on('error', (error) => console.error(error.message));
  await Promise.all([...queues, ...workers].map((part) => part.waitUntilReady()));

  line('ready');
  const started = nowMs();
  for (const worker of workers) worker.run();
  const limitMs = options.limit * 1000;

  switch (options.workload) {
    case 'pickup': {
      const pushed = [];
      for (let number = 0; number < expected; number += 1) {
        await sleep(PICK_UP_PAUSE_MS);
        pushed.push(nowMs());
        await queues[number % queues.length].add('NoopJob', payload(number), jobOptions(options));
      }
      if (!(await meter.wait(limitMs))) meter.reportUnfinished(limitMs);
      else reportLatency(pushed.slice(WARM_UP).map((at, index) => meter.starts.get(index + WARM_UP) - at));
      break;
    }
    case 'delayed_late': {
      const first = Date.now() + DUE_LEAD_MS;
      const due = dueOffsetsMs(options.jobs).map((offset) => Math.round(first + offset));
      await addBulk(queues[0], options, options.jobs, (number) => {
        const timestamp = Date.now();
        return { name: 'NoopJob', data: payload(number), opts: { ...jobOptions(options), timestamp, delay: due[number] - timestamp } };
      });
      const longest = DUE_LEAD_MS + DUE_WITHIN_MS + limitMs;
      if (!(await meter.wait(longest))) meter.reportUnfinished(longest);
      else reportLatency(due.map((at, number) => meter.starts.get(number) - at));
      break;
    }
    case 'idle':
    case 'numbers':
      break;
    case 'delayed_due': {
      const due = Number(await (await queues[0].client).get(DUE_KEY));
      const since = nowMs() + due - Date.now();
      if (!(await meter.wait(limitMs))) meter.reportUnfinished(limitMs);
      else report({ seconds: (meter.ended - since) / 1000, jobs: meter.done });
      break;
    }
    default:
      // Of a drain that is not over in time, what it came to so far: that is a rate all the same.
      await meter.wait(limitMs);
      report({ seconds: ((meter.ended ?? nowMs()) - (meter.begun ?? started)) / 1000, jobs: Math.min(meter.done, expected), ...meter.rest() });
  }
}

async function stay() {
  await new Promise((resolve) => {
    process.stdin.on('end', resolve).on('close', resolve).resume();
    process.on('SIGTERM', resolve);
  });
}

async function main() {
  const options = readOptions();
  switch (options.command) {
    case 'version':
      line(require('bullmq/package.json').version);
      break;
    case 'fill':
      await fill(options);
      break;
    case 'run':
      if (options.workload.startsWith('push_')) {
        await pushes(options);
      } else {
        await work(options);
      }
      await stay();
      break;
    default:
      throw new Error(`expected fill, run or version, found ${options.command}`);
  }
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
