import type { IncomingMessage } from 'node:http';
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { hashCredential } from '../../../core/config/api-key.js';
import { isObject } from '../../../core/schema/json-value.js';
import type { MasterKeys } from '../../../core/secrets.js';
import type { Clock } from '../../../core/units/time.js';
import { single } from '../../http/client-address.js';

/** The header with which a page shows that it read the answer of its sign-in, which pages of other origins cannot. */
const csrfHeader = 'x-csrf-token';

type WithHeaders = Pick<IncomingMessage, 'headers'>;

export const sessionMs = 12 * 3_600_000;
/** Browsers take the first name over TLS only, from this host alone: a neighbouring domain cannot plant a session. */
const secureName = '__Host-paymaster-session';
const plainName = 'paymaster-session';

export type Session = {
  /** Of the authToken. It is looked up for every call, so a removed token ends its sessions. */
  readonly sha256: string;
  readonly until: number;
  readonly csrf: string;
};

/**
 * Sessions of the console. A session is its cookie: sealed under a key made from the master key, so that every replica of the
 * dashboard can read it, and none has to store it. Those that were signed out are remembered apart: see `ended-sessions.ts`.
 */
export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({
  masterKeys,
  clock,
}: {
  readonly masterKeys: Pick<MasterKeys, 'current' | 'previous'>;
  readonly clock: Clock;
}) {
  /** The session of the request's cookie, which any page of this site can make a browser send. */
  function ofCookie(request: WithHeaders): Session | undefined {
    const cookie = cookieOf(request);
    if (cookie === undefined) return undefined;
    const { current, previous } = masterKeys;
    const session = open(current, cookie) ?? (previous && open(previous, cookie));
    return session && session.until > clock.now() ? session : undefined;
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

    begin(sha256: string): Session & { readonly cookie: string } {
      const session = { sha256, until: clock.now() + sessionMs, csrf: randomBytes(18).toString('base64url') };
      return { ...session, cookie: seal(masterKeys.current, session) };
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

function cookieOf(request: WithHeaders): string | undefined {
  const cookies = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const valueOf = (name: string) =>
    cookies.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  return valueOf(secureName) ?? (isOverTls(request) ? undefined : valueOf(plainName));
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** base64url of IV (12 bytes), ciphertext of the session as JSON, tag (16). */
function seal(master: Uint8Array, session: Session): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, keyOf(master), iv);
  const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(session)), cipher.final()]);
  return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
}

/** Undefined for anything that was not sealed under this key. */
function open(master: Uint8Array, cookie: string): Session | undefined {
  const bytes = Buffer.from(cookie, 'base64url');
  if (bytes.length < ivBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv(algorithm, keyOf(master), bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]);
    const session: unknown = JSON.parse(text.toString());
    return isObject(session) ? (session as Session) : undefined;
  } catch {
    return undefined;
  }
}

function keyOf(master: Uint8Array): Buffer {
  return createHmac('sha256', master)
    .update(JSON.stringify(['console session']))
    .digest();
}
