import { consoleQuestions, askedNow, type Question } from './console-questions.js';

/**
 * Consoles as the dashboard sees them, in a process of their own: signed in by a token, and each asking what an open page asks, as often.
 * Driven over IPC by `consoles-part.ts`.
 */
export type ConsoleOrder = {
  readonly origin: string;
  readonly token: string;
  /** How many are open from now on. */
  readonly open: number;
};

export type ConsoleReport = {
  /** Since the last order. */
  readonly answers: number;
  readonly errors: number;
  readonly firstError: string | undefined;
};

const longestMs = 60_000;

let closeAll = (): void => {};
let count = { answers: 0, errors: 0, firstError: undefined as string | undefined };
let session: Promise<Headers> | undefined;

process.on('message', (order: ConsoleOrder) => {
  obey(order).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));

async function obey(order: ConsoleOrder): Promise<ConsoleReport> {
  closeAll();
  const report = count;
  count = { answers: 0, errors: 0, firstError: undefined };
  session ??= signIn(order);
  const headers = await session;
  const closing = new AbortController();
  closeAll = () => closing.abort();
  for (let index = 0; index < order.open; index += 1) openConsole(index, order, headers, closing.signal);
  return report;
}

/** One for all: attempts of an address are counted. */
async function signIn({ origin, token }: ConsoleOrder): Promise<Headers> {
  const response = await fetch(`${origin}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ token }),
  });
  if (response.status !== 200) throw new Error(`the console cannot sign in: ${await response.text()}`);
  const { csrf } = (await response.json()) as { csrf: string };
  const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return new Headers({ accept: 'application/json', cookie, 'x-csrf-token': csrf });
}

/** People do not open their pages at one moment: each begins in another part of the usual pause. */
function openConsole(
  index: number,
  { origin, open }: ConsoleOrder,
  headers: Headers,
  closed: AbortSignal,
): void {
  for (const question of consoleQuestions) {
    const begin = setTimeout(() => void poll(origin, question, headers, closed), (5_000 / open) * index);
    closed.addEventListener('abort', () => clearTimeout(begin));
  }
}

/** As `useLive` of the console: again after a pause, which doubles while the server fails. */
async function poll(
  origin: string,
  question: Question,
  headers: Headers,
  closed: AbortSignal,
): Promise<void> {
  let waitMs = question.everyMs;
  while (!closed.aborted) {
    const fault = await ask(origin, question, headers);
    if (closed.aborted) return;
    waitMs = fault === undefined ? question.everyMs : Math.min(longestMs, waitMs * 2);
    if (fault === undefined) count.answers += 1;
    else {
      count.errors += 1;
      count.firstError ??= `${question.path}: ${fault}`;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      closed.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

/** Undefined: it has answered. */
async function ask(origin: string, question: Question, headers: Headers): Promise<string | undefined> {
  try {
    const response = await fetch(`${origin}${askedNow(question, Date.now())}`, { headers });
    const text = await response.text();
    return response.ok ? void JSON.parse(text) : `${response.status} ${text.slice(0, 300)}`;
  } catch (error) {
    return String(error);
  }
}
