import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hashCredential } from '../../core/config/api-key.js';
import type { Logger } from '../../core/log.js';
import type { Status } from './status.js';

export const statusPath = '/status';

/**
 * Answers `GET /status` to a caller with the operator's token of this instance (`Authorization: Bearer …`), which only the
 * owner of connection.json has. False when the request is for another path.
 */
export function createStatusEndpoint(deps: {
  readonly operatorToken: string;
  readonly read: () => Promise<Status>;
  readonly log: Logger;
}): (request: IncomingMessage, response: ServerResponse) => boolean {
  const expected = Buffer.from(hashCredential(deps.operatorToken), 'hex');

  function isOwner({ headers }: IncomingMessage): boolean {
    const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    return timingSafeEqual(Buffer.from(hashCredential(token), 'hex'), expected);
  }

  return (request, response) => {
    if (request.url !== statusPath || request.method !== 'GET') return false;
    if (!isOwner(request)) {
      send(response, 401, {
        message: 'operatorToken of connection.json is required: Authorization: Bearer …',
      });
      return true;
    }
    deps.read().then(
      (status) => send(response, 200, status),
      (error: unknown) => {
        deps.log.error('status not read', { error });
        send(response, 500, { message: 'the status could not be read: see the log' });
      },
    );
    return true;
  };
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}
