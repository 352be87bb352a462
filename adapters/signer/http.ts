import { Agent, type buildConnector } from 'undici';
import { asItIs, BodyTooLarge, errorText, readBody, type HttpAnswer } from '../http-exchange.js';
import { networkErrorCode } from '../webhook/network-errors.js';
import { CallFailed } from './call-failed.js';

type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};
export type Http = {
  /** Throws CallFailed: `unreached` when the request was certainly never sent, else `unclear`. */
  ask(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Ends every call. */
  stop(): void;
};

const maxBodyBytes = 64 * 1024;

/**
 * Codes of failures before anything is sent: of the resolver, of connecting, of TLS. ECONNRESET and others may come after the
 * request, when a signature may have been made.
 */
const neverSent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Kept connections, no redirects, no proxy. The addresses come from the platform's own files, so inner ones are allowed. */
export function createHttp(connections: number, tls: buildConnector.BuildOptions = {}): Http {
  // The signal of each call is the only deadline. Over HTTP/2 all calls would share one connection.
  const agent = new Agent({ connections, allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: tls });
  return {
    async ask({ url, ...request }, signal) {
      const { origin, host, pathname, search } = new URL(url);
      try {
        const { statusCode, headers, body } = await agent.request({
          ...request,
          origin,
          path: `${pathname}${search}`,
          headers: { ...asItIs, ...request.headers },
          signal,
        });
        return { status: statusCode, body: await readBody(body, maxBodyBytes, headers) };
      } catch (error) {
        if (error instanceof BodyTooLarge)
          throw new CallFailed('unclear', `${host} answers more than ${maxBodyBytes} bytes`);
        const code = networkErrorCode(error);
        if (signal.aborted) throw new CallFailed('unclear', `${host} did not answer in time`);
        throw new CallFailed(
          neverSent.has(code) ? 'unreached' : 'unclear',
          `${host} could not be asked (${errorText(error, 'code') ?? code})`,
        );
      }
    },
    stop: () => void agent.destroy().catch(() => undefined),
  };
}
