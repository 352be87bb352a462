import { noAnswer } from './api-error.js';
import type { KubeTransport } from './transport.js';

/**
 * A transport that sends a write only while this process leads: `leftMs` says for how long it certainly does. It asks before each
 * request, not once per task: a retry after a conflict must not be sent once leadership is lost. A write gets at most
 * that time, so that one that still waits when a stopped process wakes up is given up before it is sent.
 */
export function guardWrites(transport: KubeTransport, leftMs: () => number): KubeTransport {
  return {
    ...transport,
    async request(call) {
      if (call.method === 'GET') return transport.request(call);
      const left = leftMs();
      if (left > 0) return transport.request({ ...call, timeoutMs: Math.min(left, call.timeoutMs ?? left) });
      throw noAnswer('NotLeading', `${call.method} ${call.path}: this process does not lead`);
    },
  };
}
