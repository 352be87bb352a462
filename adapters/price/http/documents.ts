import { join } from 'node:path';
import { Agent } from 'undici';
import type { Ambient } from '../../../core/ambient.js';
import { parseDocument, type JsonDocument } from '../../../core/pricing/json-document.js';
import { faulty, type RefusedPrice } from '../../../core/pricing/price-source.js';
import type { EpochMs } from '../../../core/units/time.js';
import { asItIs, basicAuth, BodyTooLarge, errorText, readBody } from '../../http-exchange.js';
import { createMountedFile } from '../../mounted-file.js';
import { shareInFlight } from '../../share-in-flight.js';

export type DocumentReading = {
  readonly ok: true;
  readonly document: JsonDocument;
  /** When the request was sent: the price cannot be younger. */
  readonly askedAt: EpochMs;
};

/** Reads JSON documents over HTTP; never rejects. Reads of one address that overlap are one. */
export type Documents = {
  read(url: string, headersFile: string | undefined): Promise<DocumentReading | RefusedPrice>;
  /** Lets running reads finish, then closes every connection. May be called twice. */
  stop(): Promise<void>;
};

type DocumentsDeps = Pick<Ambient, 'clock' | 'log'> & {
  /** Directory of mounted header files. */
  readonly headersDirectory?: string;
  /** Time for a read, including its body. Default 3000 ms. */
  readonly timeoutMs?: number;
};

const defaultTimeoutMs = 3_000;
const maxBodyBytes = 512 * 1024;
const connectionsPerHost = 4;

/**
 * Keep-alive connections per host; plain GET without redirects and decompression. The URLs come from resources of the
 * platform, which may name hosts of its network, so addresses are not checked as those of webhooks are.
 */
export function createDocuments(deps: DocumentsDeps): Documents {
  const { clock, timeoutMs = defaultTimeoutMs } = deps;
  const readHeaders = createHeaderFiles(deps);
  // One signal is the deadline of the whole read; timeouts of the pool would be a second, coarser one.
  // Over HTTP/2 all reads would share one connection, and one that stalls would stall them all.
  const agent = new Agent({
    connections: connectionsPerHost,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let stopped: Promise<void> | undefined;

  return {
    read: shareInFlight(
      (url, headersFile) => `${headersFile ?? ''} ${url}`,
      async (_key, url: string, headersFile: string | undefined) => {
        // Only the host is shown: path and query often hold a key.
        const refuse = (reason: 'UNREACHABLE' | 'MALFORMED', detail: string) =>
          faulty(sourceName(url), reason, detail);
        if (stopped !== undefined) return refuse('UNREACHABLE', 'was not asked, the service is stopping');
        if (!URL.canParse(url)) return refuse('UNREACHABLE', 'was not asked, its url is not valid');
        const askedAt = clock.now();
        const deadline = AbortSignal.timeout(timeoutMs);
        try {
          const headers = headersFile === undefined ? {} : await readHeaders(headersFile);
          const { status, body } = await get(new URL(url), headers, deadline);
          if (status !== 200) return refuse('UNREACHABLE', describeStatus(status));
          const document = parseDocument(body);
          if (document === undefined) return refuse('MALFORMED', 'answers something that is not JSON');
          return { ok: true, document, askedAt };
        } catch (error) {
          if (error instanceof BodyTooLarge)
            return refuse('MALFORMED', `answers more than ${maxBodyBytes} bytes`);
          if (error instanceof HeadersUnusable) return refuse('UNREACHABLE', error.message);
          if (deadline.aborted) return refuse('UNREACHABLE', `did not answer within ${timeoutMs} ms`);
          const cause = errorText(error, 'code') ?? errorText(error, 'name') ?? 'unknown error';
          return refuse('UNREACHABLE', `could not be asked (${cause})`);
        }
      },
    ),
    stop() {
      stopped ??= agent.close();
      return stopped;
    },
  };

  async function get(
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly body: string }> {
    const authorization = basicAuth(url);
    const {
      statusCode,
      headers: answered,
      body,
    } = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: {
        accept: 'application/json',
        ...asItIs,
        ...(authorization === undefined ? {} : { authorization }),
        ...headers,
      },
      signal,
    });
    if (statusCode === 200) return { status: statusCode, body: await readBody(body, maxBodyBytes, answered) };
    // A short rest is read to its end, so that the connection can be used again.
    await body.dump({ limit: maxBodyBytes, signal });
    return { status: statusCode, body: '' };
  }
}

/** `http api.example.com`: the name of a document for people. */
export function sourceName(url: string): string {
  return `http ${URL.canParse(url) ? new URL(url).host : '(bad url)'}`;
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `answers HTTP ${status}, and redirects are not followed`;
  if (status === 401 || status === 403) return `answers HTTP ${status}: check its headersFile`;
  return `answers HTTP ${status}`;
}

type Headers = Readonly<Record<string, string>>;

/** What is wrong with a header file; the message never quotes a value, which is a key. */
class HeadersUnusable extends Error {}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
const valuePattern = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
/** Headers that belong to the connection: a file that set them could garble requests of others. */
const reserved = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
]);

/**
 * Reads header files of a directory by name, one `name: value` per line. Rejects with HeadersUnusable if the file has never been
 * usable.
 */
function createHeaderFiles({
  headersDirectory,
  clock,
  log,
}: DocumentsDeps): (file: string) => Promise<Headers> {
  const files = new Map<string, () => Promise<Headers>>();
  return async (file) => {
    if (headersDirectory === undefined)
      throw new HeadersUnusable(`needs header file "${file}", and no directory of them is mounted`);
    const read =
      files.get(file) ??
      createMountedFile(join(headersDirectory, file), {
        clock,
        parse: (text) => parseHeaders(text, file),
        onUnusable: () => log.warn('header file not usable, keeping the last one', { file }),
      });
    files.set(file, read);
    try {
      return await read();
    } catch (error) {
      if (error instanceof HeadersUnusable) throw error;
      throw new HeadersUnusable(`needs header file "${file}", which cannot be read`, { cause: error });
    }
  };
}

/** Lines `name: value`; empty ones and those that begin with "#" are left out. */
function parseHeaders(text: string, file: string): Headers {
  const headers: Record<string, string> = {};
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!namePattern.test(name) || !valuePattern.test(value) || reserved.has(name))
      throw new HeadersUnusable(
        `needs header file "${file}", whose line ${index + 1} must be "name: value" of a header that may be set`,
      );
    headers[name] = value;
  }
  return headers;
}
