import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Request, Response } from 'express';
import type { List, Reply, Table } from './call.js';
import type { Endpoint } from './endpoint.js';

/** Writes an answer as fast as the client reads it. Resolves when all of it is written, or the client is gone. */
export async function send(
  request: Request,
  response: Response,
  { message, status = 200 }: Endpoint,
  reply: Reply,
): Promise<void> {
  if (message === undefined) {
    response.status(reply.status ?? status);
    if (reply.programmed !== undefined) response.set('X-Programmed', String(reply.programmed));
    return sendPreferred(request, response, reply);
  }
  const { list, data, programmed, warnings } = reply;
  if (programmed !== undefined) response.set('X-Programmed', String(programmed));
  if (list === undefined) response.json(successEnvelope(message, data, warnings));
  else await sendList(response, successEnvelope(message), list);
}

/** JSON, or what the caller prefers of the forms that the answer has. */
async function sendPreferred(
  request: Request,
  response: Response,
  { data, table, list, warnings = [], etag: ofObject }: Reply,
): Promise<void> {
  response.set('Vary', 'Accept');
  const isTable = table !== undefined && request.accepts(['application/json', 'text/csv']) === 'text/csv';
  if (isTable) return sendTable(response, table, request.method === 'HEAD');
  if (list !== undefined) return void response.type('application/json').send(await renderPage(list));
  if (data === undefined) return void response.status(204).end();
  const body = JSON.stringify({ data, ...(warnings.length > 0 && { warnings }) });
  // Names what may be changed, and says nothing about the status: so it does not answer If-None-Match.
  if (ofObject !== undefined) return void response.set('ETag', ofObject).type('application/json').send(body);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  // To be asked again each time: an answer changes when an operation is mined.
  response.set('Cache-Control', 'private, no-cache').set('ETag', etag);
  if (request.get('if-none-match') === etag) response.status(304).end();
  else response.type('application/json').send(body);
}

async function renderPage({ records, cursor = null }: List): Promise<string> {
  const items: string[] = [];
  for await (const record of records) items.push(record);
  return `{"data":{"items":[${items.join(',')}],"nextCursor":${JSON.stringify(cursor)}}}`;
}

async function sendTable(response: Response, { columns, pages }: Table, isHead: boolean): Promise<void> {
  response.type('text/csv').set('Cache-Control', 'private, no-store');
  await sendWhole(response, async (gone) => {
    // Express asks GET for HEAD: nobody would read the rows.
    if (gone.aborted || isHead) return void response.end();
    response.write(csvLine(columns));
    for await (const rows of pages()) {
      if (!(await write(response, rows.map(csvLine).join(''), gone))) return;
    }
    response.end();
  });
}

/** The records are `data` of the envelope. */
async function sendList(response: Response, envelope: Envelope, { records, cursor }: List): Promise<void> {
  const head = `${JSON.stringify(envelope).slice(0, -1)},"data":[`;
  const tail = cursor === undefined ? ']}' : `],"cursor":${JSON.stringify(cursor)}}`;
  response.type('application/json');
  if (Array.isArray(records)) return void response.send(head + records.join(',') + tail);
  await sendWhole(response, async (gone) => {
    let separator = head;
    for await (const record of records) {
      if (!(await write(response, separator + record, gone))) return;
      separator = ',';
    }
    response.end((separator === head ? head : '') + tail);
  });
}

/** Waits for a client that reads slowly; false when it is gone. */
async function write(response: Response, text: string, gone: AbortSignal): Promise<boolean> {
  const isFull = !response.write(text);
  if (gone.aborted) return false;
  if (isFull) await once(response, 'drain', { signal: gone });
  return true;
}

/** Ends the connection when `work` fails: half an answer must not look like a whole one. */
async function sendWhole(response: Response, work: (gone: AbortSignal) => Promise<void>): Promise<void> {
  const gone = goneSignal(response);
  try {
    await work(gone);
  } catch (error) {
    response.destroy();
    if (!gone.aborted) throw error;
  }
}

/** Aborted when the client has left, also before the answer was known. */
export function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.closed || response.destroyed) gone.abort();
  return gone.signal;
}

/** RFC 4180. Amounts are digits; a text that a spreadsheet would run as a formula gets a leading apostrophe. */
function csvLine(values: readonly unknown[]): string {
  return `${values.map(field).join(',')}\r\n`;
}

function field(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Some spreadsheets read full-width signs as the usual ones.
  const isFormula = /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^-\d+(?:\.\d+)?$/.test(text);
  const safe = typeof value === 'string' && isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

type Envelope = ReturnType<typeof successEnvelope>;

/** Every answer of the service document. `warnings`: what the caller should know although the request has succeeded. */
function successEnvelope(message: string, data?: unknown, warnings: readonly string[] = []) {
  return {
    statusCode: 200,
    message,
    ...(data === undefined ? {} : { data }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}
