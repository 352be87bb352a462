import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Preloaded into a program and its threads, which then go by the clock of this machine and as many milliseconds more as the file says that
// the query names. Timers and deadlines go on as they are.

const file = fileURLToPath(new URL(import.meta.url).searchParams.get('file')!);
const now = Date.now;
let aheadMs = 0;

function read(): void {
  aheadMs = Number(readFileSync(file, 'utf8'));
}

read();
setInterval(read, 20).unref();
Date.now = () => now() + aheadMs;
