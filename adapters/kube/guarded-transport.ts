import { KubeApiError } from './api-error.js';
import type { KubeTransport } from './transport.js';

/**
 * A transport that sends a write only while `mayWrite` says so. It is asked before each request and not once for a whole
 * task: what is tried again because others have written meanwhile must not be by who leads no more.
 */
export function guardWrites(transport: KubeTransport, mayWrite: () => boolean): KubeTransport {
  return {
    ...transport,
    async request(call) {
      if (call.method === 'GET' || mayWrite()) return transport.request(call);
      throw new KubeApiError({
        status: 0,
        reason: 'NotLeading',
        message: `${call.method} ${call.path}: this process does not lead`,
      });
    },
  };
}
