import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { openLedgerFiles, type LedgerFiles, type LedgerFilesOptions } from './ledger-files.js';
import type { SetAside } from './set-aside.js';
import { plainError, type Answer, type Request } from './worker-messages.js';

// The thread that owns the ledger's files: it answers one request after another, so that neither storing nor a long
// question delays the thread that signs.

const port = parentPort;
if (port === null) throw new Error('the ledger worker must be started as a thread');
yieldToSigning();

function answer(call: number, work: () => unknown): void {
  let message: Answer;
  try {
    message = { call, value: work() };
  } catch (error) {
    message = { call, error: plainError(error) };
  }
  port?.postMessage(message);
}

let files: LedgerFiles | undefined;
answer(0, () => {
  const setAside: SetAside[] = [];
  files = openLedgerFiles(workerData as LedgerFilesOptions, (what) => setAside.push(what));
  return setAside;
});

if (files === undefined) port.close();
else serve(files);

function serve(opened: LedgerFiles): void {
  const methods = opened as Record<string, (...args: readonly unknown[]) => unknown>;
  port?.on('message', (request: Request) => {
    if (request.method === 'close') {
      answer(request.call, () => opened.close());
      port?.close();
    } else answer(request.call, () => methods[request.method]?.(...request.arguments));
  });
}

/** What is stored later is stored as well. On Linux this is about the calling thread, elsewhere about all of them. */
function yieldToSigning(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, 5);
  } catch {
    // A sandbox may forbid it, and the thread works without.
  }
}
