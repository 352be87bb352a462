import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hashCredential } from '../../../core/config/api-key.js';
import { unlessUnavailable } from '../../../core/errors.js';
import { isObject } from '../../../core/schema/json-value.js';
import { plusMs, type Clock, type EpochMs } from '../../../core/units/time.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import { single } from '../../http/client-address.js';

/** The header with which a page shows that it read the answer of its sign-in, which pages of other origins cannot. */
const csrfHeader = 'x-csrf-token';

type WithHeaders = Pick<IncomingMessage, 'headers'>;

export const sessionMs = 12 * 3_600_000;
/** A replica whose clock is ahead may have begun the session. */
const clocksApartMs = 60_000;
/** Browsers take the first name over TLS only, from this host alone: a neighbouring domain cannot plant a session. */
const secureName = '__Host-paymaster-session';
const plainName = 'paymaster-session';

export type Session = {
  /** Of the authToken in the cookie. It is looked up for every call, so a removed token ends its sessions. */
  readonly sha256: string;
  readonly until: number;
  readonly csrf: string;
};

/**
 * Sessions of the console. A session is its cookie, sealed under a key that every replica of the dashboard has, so none has to store it.
 * It holds the token itself, which is hashed for every call: who has the key and the hashes that manifests list can make no session.
 * Those that were signed out are remembered apart: see {@link createEndedSessions}.
 */
export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({ key, clock }: { readonly key: () => Uint8Array; readonly clock: Clock }) {
  /** The session of the request's cookie, which any page of this site can make a browser send. */
  function ofCookie(request: WithHeaders): Session | undefined {
    const cookie = readCookie(request);
    if (cookie === undefined) return undefined;
    const sealed = open(key(), cookie);
    if (sealed === undefined) return undefined;
    const { authToken, until, csrf } = sealed;
    const leftMs = until - clock.now();
    // Whatever a cookie says, no session is longer than one that begins now.
    if (!(leftMs > 0 && leftMs <= sessionMs + clocksApartMs)) return undefined;
    return { sha256: hashCredential(authToken), until, csrf };
  }

  return {
    ofCookie,

    /** The session of a call from the console's own page. */
    of(request: WithHeaders): Session | undefined {
      const csrf = single(request.headers[csrfHeader]);
      if (csrf === undefined) return undefined;
      const session = ofCookie(request);
      // Compares hashes, so the time of a comparison reveals nothing.
      return session && hashCredential(csrf) === hashCredential(session.csrf) ? session : undefined;
    },

    begin(authToken: string): Session & { readonly cookie: string } {
      const until = clock.now() + sessionMs;
      const csrf = randomBytes(18).toString('base64url');
      const cookie = seal(key(), { authToken, until, csrf });
      return { sha256: hashCredential(authToken), until, csrf, cookie };
    },
  };
}

/** The header that sets the session's cookie, or removes it. */
export function setCookie(request: WithHeaders, cookie: string, maxAgeSeconds: number): string {
  const isSecure = isOverTls(request);
  return `${isSecure ? secureName : plainName}=${cookie}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

/** By the page's origin, which browsers send with every POST and DELETE: TLS may end at a proxy that says nothing of it. */
function isOverTls(request: WithHeaders): boolean {
  return request.headers.origin?.startsWith('https://') === true;
}

function readCookie(request: WithHeaders): string | undefined {
  const cookies = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const readValue = (name: string) =>
    cookies.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  return readValue(secureName) ?? (isOverTls(request) ? undefined : readValue(plainName));
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** What a cookie holds. */
type Sealed = { readonly authToken: string; readonly until: number; readonly csrf: string };

/** base64url of IV (12 bytes), ciphertext of the session as JSON, tag (16). */
function seal(secret: Uint8Array, session: Sealed): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, secret, iv);
  const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(session)), cipher.final()]);
  return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
}

/** Undefined for anything that was not sealed under this key. */
function open(secret: Uint8Array, cookie: string): Sealed | undefined {
  const bytes = Buffer.from(cookie, 'base64url');
  if (bytes.length < ivBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv(algorithm, secret, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]);
    const session: unknown = JSON.parse(text.toString());
    return isSealed(session) ? session : undefined;
  } catch {
    return undefined;
  }
}

function isSealed(value: unknown): value is Sealed {
  if (!isObject(value)) return false;
  const { authToken, until, csrf } = value;
  return typeof authToken === 'string' && typeof until === 'number' && typeof csrf === 'string';
}

/** The clock of the database may be ahead of the one that ends sessions. */
const hourMs = 3_600_000;

/**
 * Sessions that were signed out, so that no replica of the dashboard takes a copy of their cookie.
 */
export type EndedSessions = ReturnType<typeof createEndedSessions>;

export function createEndedSessions(texts: Pick<KeptTexts, 'putText' | 'getText'>) {
  return {
    /** Throws UNAVAILABLE: then the session goes on. */
    end: ({ csrf, until }: Session): Promise<void> =>
      texts.putText(sessionName(csrf), 'signed out', plusMs(until as EpochMs, hourMs)),

    /**
     * Whether a session was signed out. While the database is away nobody knows: readings then go on, since the person on call needs them,
     * and anything else throws UNAVAILABLE.
     */
    async has({ csrf }: Session, isReading: boolean): Promise<boolean> {
      const asked = texts.getText(sessionName(csrf));
      return (await (isReading ? unlessUnavailable(asked) : asked)) !== undefined;
    },
  };
}

/** No paymasterId has a space. */
function sessionName(csrf: string): string {
  return `session ${hashCredential(csrf)}`;
}
