import { readFileSync } from 'node:fs';
import type { Component } from '../../support/cluster/component.js';
import { until } from '../../support/until.js';

/** For components whose heap is read: the inspector that a signal opens takes a free port. */
export const inspectable = { NODE_OPTIONS: '--inspect-port=0' };

/** Bytes in use on the JavaScript heap of a component after two full collections. */
export async function usedHeap(component: Component): Promise<number> {
  const socket = new WebSocket(await openInspector(component));
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error(`the inspector of ${component.name} does not answer`));
  });
  try {
    await call(socket, 1, 'HeapProfiler.collectGarbage');
    await call(socket, 2, 'HeapProfiler.collectGarbage');
    const { usedSize } = (await call(socket, 3, 'Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize;
  } finally {
    socket.close();
  }
}

/** An open inspector stays open, and does not print its address a second time. */
async function openInspector(component: Component): Promise<string> {
  const addresses = () =>
    [...readFileSync(component.logFile, 'utf8').matchAll(/^Debugger listening on (ws:\S+)$/gm)].map(
      ([, url]) => url ?? '',
    );
  component.signal('SIGUSR1');
  await until(`${component.name} opens its inspector`, () => addresses().length > 0);
  return addresses().at(-1) ?? '';
}

function call(socket: WebSocket, id: number, method: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const listen = ({ data }: MessageEvent): void => {
      const answer = JSON.parse(String(data)) as { id?: number; result?: unknown; error?: unknown };
      if (answer.id !== id) return;
      socket.removeEventListener('message', listen);
      if (answer.error === undefined) resolve(answer.result);
      else reject(new Error(`${method}: ${JSON.stringify(answer.error)}`));
    };
    socket.addEventListener('message', listen);
    socket.send(JSON.stringify({ id, method }));
  });
}
