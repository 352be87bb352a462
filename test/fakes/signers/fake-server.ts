import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SigningKey } from 'ethers';
import { hexToBytes, hexWord, type Hex } from '../../../core/units/hex.js';

/** How a fake of a remote signer behaves; all off at first. */
export type Switches = {
  /** Signs as clouds do, with high s. */
  highS: boolean;
  /** Signs with another key than the one asked for. */
  wrongKey: boolean;
  /** Answers that it has too much to do, this many times. */
  throttled: number;
  /** Answers an error, this many times. */
  failing: number;
  /** Our right to use it was taken away. */
  revoked: boolean;
  /** Cuts its answers in the middle. */
  torn: boolean;
  /** Takes requests, signs, and never answers. */
  silent: boolean;
  /** Answers what cannot be understood. */
  garbled: boolean;
  /** Time that it takes. */
  delayMs: number;
  /** Signatures that it makes in a second, of which it can make a tenth (one, at least) at once; beyond, it is throttled. */
  perSecond: number;
};

export type FakeAnswer = { readonly status: number; readonly body: string };
export type FakeRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

/** The protocol of a fake. `answer` is undefined for a request that does not count as one for a signature (a token, a role). */
export type FakeProtocol = {
  answer(request: FakeRequest, switches: Switches): FakeAnswer;
  /** False for calls beside signatures, which no switch touches. */
  isForKey?(request: FakeRequest): boolean;
  readonly throttled: FakeAnswer;
  readonly revoked: FakeAnswer;
  readonly failing: FakeAnswer;
};

export type FakeServer = {
  readonly origin: string;
  readonly switches: Switches;
  /** Requests that it has answered by a signature, or would have. */
  readonly asked: FakeRequest[];
  /** Requests that were too many. */
  refused(): number;
  /** All off again. */
  calm(): void;
  stop(): Promise<void>;
};

const calm = (): Switches => ({
  highS: false,
  wrongKey: false,
  throttled: 0,
  failing: 0,
  revoked: false,
  torn: false,
  silent: false,
  garbled: false,
  delayMs: 0,
  perSecond: Number.POSITIVE_INFINITY,
});

/** A real HTTP server on the loopback interface that speaks the protocol, and misbehaves as it is told. */
export async function startFake(protocol: FakeProtocol): Promise<FakeServer> {
  const switches = calm();
  const asked: FakeRequest[] = [];
  let tokens: number = Number.POSITIVE_INFINITY;
  let filledAt = 0;
  let refused = 0;

  function isOverLimit(): boolean {
    const { perSecond } = switches;
    if (!Number.isFinite(perSecond)) {
      tokens = Number.POSITIVE_INFINITY;
      return false;
    }
    const now = performance.now();
    tokens = Math.min(Math.max(1, perSecond / 10), tokens + ((now - filledAt) / 1000) * perSecond);
    filledAt = now;
    if (tokens < 1) return true;
    tokens -= 1;
    return false;
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request: FakeRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: await text(incoming),
    };
    const write = ({ status, body }: FakeAnswer) => void outgoing.writeHead(status).end(body);
    if (protocol.isForKey?.(request) === false) return write(protocol.answer(request, switches));
    if (switches.throttled > 0) {
      switches.throttled -= 1;
      return write(protocol.throttled);
    }
    if (switches.failing > 0) {
      switches.failing -= 1;
      return write(protocol.failing);
    }
    if (switches.revoked) return write(protocol.revoked);
    if (isOverLimit()) {
      refused += 1;
      return write(protocol.throttled);
    }
    const answer = protocol.answer(request, switches);
    if (answer.status === 200) asked.push(request);
    if (switches.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, switches.delayMs));
    if (switches.silent) return;
    if (switches.garbled) return write({ status: 200, body: '<html>' });
    if (!switches.torn) return write(answer);
    outgoing.writeHead(answer.status, { 'content-length': Buffer.byteLength(answer.body) });
    outgoing.write(answer.body.slice(0, answer.body.length / 2), () => outgoing.destroy());
  }

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the fake listens nowhere');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    switches,
    asked,
    refused: () => refused,
    calm: () => void Object.assign(switches, calm()),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const otherKey = `0x${'0d'.repeat(32)}`;

/** r and s over a digest, by the key or, if told so, by another one. */
export function signedBy(key: string, digest: Uint8Array, { highS, wrongKey }: Switches) {
  const { r, s, yParity } = new SigningKey(wrongKey ? otherKey : key).sign(digest);
  return {
    r,
    s: highS ? (`0x${hexWord(n - BigInt(s))}` as const) : s,
    yParity: highS ? 1 - yParity : yParity,
  };
}

/** The same as DER, as clouds answer it. */
export function derOf({ r, s }: { readonly r: string; readonly s: string }): Buffer {
  const part = (hex: string) => {
    const digits = Buffer.from(hexToBytes(hex as Hex));
    const first = digits.findIndex((byte) => byte !== 0);
    const short = digits.subarray(first);
    const content = (short[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), short]) : short;
    return Buffer.concat([Buffer.of(0x02, content.length), content]);
  };
  const both = Buffer.concat([part(r), part(s)]);
  return Buffer.concat([Buffer.of(0x30, both.length), both]);
}
