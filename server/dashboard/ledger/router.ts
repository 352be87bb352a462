import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { FairSlots, SlotsBusy, type SlotLimits } from '../../../adapters/fair-slots.js';
import { DomainError } from '../../../core/errors.js';
import express, { type IRouter, type Request, type Response } from 'express';
import type { Authenticator, Principal } from '../auth.js';
import type { BodyAdmission } from '../../http/body-admission.js';
import { credentialsRequired } from '../errors.js';
import { bodyOf, goneSignal } from '../router.js';
import { csvLine } from './csv.js';
import type { LedgerAnswer, LedgerEndpoint, LedgerTools, Table } from './endpoint.js';
import { readParameters } from './parameters.js';

export type LedgerRouterDeps = LedgerTools & {
  readonly authenticator: Authenticator;
  /** Bounds the bodies that are held at once, by organisation. */
  readonly bodies: BodyAdmission;
};

/** Until the client has read them. A fifth of them, at most, belongs to one organisation. */
const answersAtOnce: SlotLimits = { slots: 40, perKey: 8, waitingPerKey: 56, maxWaitMs: 10_000 };

/** Answers JSON, or CSV to those who prefer it. Errors go to the application's one error handler. */
export function createLedgerRouter(endpoints: readonly LedgerEndpoint[], deps: LedgerRouterDeps): IRouter {
  const router = express.Router();
  const answers = new FairSlots(answersAtOnce);
  for (const endpoint of endpoints) {
    const { method = 'get', path, status = 200 } = endpoint;
    router[method](path, async (request, response) => {
      response.locals['route'] = `${method.toUpperCase()} ${path}`;
      const { authenticator, bodies } = deps;
      const token = request.get('authToken')?.trim() || undefined;
      // The text of the organisation's other endpoint: the token alone is missing.
      const principalOf = method === 'get' ? authenticator.reader : authenticator.principal;
      const principal = token === undefined ? undefined : await principalOf(token);
      if (principal === undefined) throw credentialsRequired(2);
      const { search } = new URL(request.url, 'http://localhost');
      const given = readParameters(search, endpoint.parameters);
      const params = { id: String(request.params['id'] ?? '') };
      const body =
        endpoint.body === undefined
          ? undefined
          : await bodyOf(request, response, bodies, principal.namespace);
      await inTurn(answers, principal, async () => {
        const gone = goneSignal(response);
        const answer = await endpoint.answer(deps, { principal, given, params, body, gone });
        response.status(status);
        await send(request, response, answer);
        // A page is some megabytes, and stays in memory until the client has read it.
        if (!response.closed) await new Promise((resolve) => response.once('close', resolve));
      });
    });
  }
  return router;
}

/** Throws RATE_LIMITED when the organisation has too many answers open. */
async function inTurn(answers: FairSlots, { tenant }: Principal, work: () => Promise<void>): Promise<void> {
  try {
    await answers.run(tenant, work);
  } catch (error) {
    if (!(error instanceof SlotsBusy)) throw error;
    throw new DomainError('RATE_LIMITED', 'Too many answers of the organisation are open', {
      reason: 'ANSWERS_BUSY',
      retryAfterSeconds: 1,
    });
  }
}

async function send(
  request: Request,
  response: Response,
  { data, lines, table }: LedgerAnswer,
): Promise<void> {
  response.set('Vary', 'Accept');
  const isLines = lines !== undefined && request.accepts(['application/json', linesType]) === linesType;
  if (isLines) return sendLines(response, lines);
  const isTable = table !== undefined && request.accepts(['application/json', 'text/csv']) === 'text/csv';
  if (isTable) return sendTable(response, table, request.method === 'HEAD');
  const body = JSON.stringify({ data });
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  // To be asked again each time: an answer changes when an operation is mined.
  response.set('Cache-Control', 'private, no-cache').set('ETag', etag);
  if (request.get('if-none-match') === etag) response.status(304).end();
  else response.type('application/json').send(body);
}

const linesType = 'application/x-ndjson';

async function sendLines(response: Response, lines: NonNullable<LedgerAnswer['lines']>): Promise<void> {
  response.type(linesType).set('Cache-Control', 'private, no-store');
  const gone = goneSignal(response);
  try {
    for await (const data of lines(gone)) response.write(`${JSON.stringify({ data })}\n`);
    response.end();
  } catch (error) {
    response.destroy();
    if (!gone.aborted) throw error;
  }
}

/** Writes page after page, as fast as the client reads; a client that goes away ends it. */
async function sendTable(response: Response, { columns, pages }: Table, isHead: boolean): Promise<void> {
  response.type('text/csv').set('Cache-Control', 'private, no-store');
  const gone = goneSignal(response);
  if (gone.aborted) return;
  // Express asks GET for HEAD: nobody would read the rows.
  if (isHead) return void response.end();
  response.write(csvLine(columns));
  try {
    for await (const rows of pages()) {
      const isFull = !response.write(rows.map(csvLine).join(''));
      if (gone.aborted) return;
      if (isFull) await once(response, 'drain', { signal: gone });
    }
    response.end();
  } catch (error) {
    // Half a table must not look like a whole one.
    response.destroy();
    if (!gone.aborted) throw error;
  }
}
