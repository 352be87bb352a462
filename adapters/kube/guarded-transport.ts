import { noAnswer } from './api-error.js';
import type { KubeTransport } from './transport.js';

/**
 * A transport that sends a write only while `mayWrite` returns true. It asks before each request, not once per task: a
 * retry after a conflict must not be sent once leadership is lost.
 */
export function guardWrites(transport: KubeTransport, mayWrite: () => boolean): KubeTransport {
  return {
    ...transport,
    async request(call) {
      if (call.method === 'GET' || mayWrite()) return transport.request(call);
      throw noAnswer('NotLeading', `${call.method} ${call.path}: this process does not lead`);
    },
  };
}
