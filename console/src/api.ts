import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Me, Scope } from './records.js';

const scopes = signal('');

/** When the token of the session expires. */
let tokenEndsMs = Infinity;

export async function askMe(): Promise<Me> {
  const own = session.value;
  const me = await call<Me>('/manage/v1/me');
  // Another session has begun meanwhile, of which this says nothing.
  if (session.value !== own) return me;
  tokenEndsMs = me.token.expiresAt === null ? Infinity : Date.parse(me.token.expiresAt);
  // A text, so that pages are drawn again only when it changes.
  scopes.value = me.token.scopes.join(' ');
  return me;
}

/** Whether the token has one of these scopes, or `write`, which allows everything. */
export function can(...enough: readonly Scope[]): boolean {
  return [...enough, 'write'].some((scope) => scopes.value.split(' ').includes(scope));
}

/** Undefined: signed out. The token itself is never kept; the cookie that stands for it is not readable here. */
export const session = signal<Session | undefined>(undefined);

type Session = { readonly csrf: string; readonly until: string };

/** Set once the server refuses a session that this page had: why. */
export const ended = signal<string | undefined>(undefined);

function whyEnded({ until }: Session): string {
  if (Date.parse(until) <= Date.now()) return 'twelve hours have passed';
  if (tokenEndsMs <= Date.now()) return 'its token has expired';
  return 'its token was revoked, or you signed out in another tab';
}

/** A mistake in one field that was sent. */
export type Fault = { readonly field: string; readonly says: string };

/** A mistake in what somebody has typed, by field. */
export class Mistake extends Error {
  readonly faults: readonly Fault[];

  constructor(message: string, faults: readonly Fault[]) {
    super(message);
    this.faults = faults;
  }
}

/** A call that the server refused. */
export class Refused extends Mistake {
  readonly status: number;
  /** A row of docs/errors.md. */
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** The YAML to commit, where a manifest owns the field. */
  readonly manifest: string | undefined;

  constructor(status: number, { message, faults, code, manifest }: Reason, retryAfterMs: number | undefined) {
    super(message, faults);
    this.status = status;
    this.code = code;
    this.manifest = manifest;
    this.retryAfterMs = retryAfterMs;
  }
}

type Options = {
  readonly method?: string;
  readonly body?: object;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

const answerMs = 30_000;

/** Relative to this page, so that a proxy may serve everything below another path. */
const base = '..';

const sessions = '/console/session';

export async function request(path: string, options: Options = {}): Promise<Response> {
  const { method = 'GET', body, accept = 'application/json', headers, signal } = options;
  const own = session.value;
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      ...headers,
      accept,
      ...(own === undefined ? {} : { 'x-csrf-token': own.csrf }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  if (response.ok) return response;
  // Only the session that asked has ended: not one that began meanwhile, nor the present one when another sign-in is refused.
  if (response.status === 401 && session.value === own && path !== sessions) {
    if (own !== undefined) ended.value = whyEnded(own);
    session.value = undefined;
  }
  const seconds = Number(response.headers.get('retry-after'));
  throw new Refused(response.status, await readReason(response), seconds > 0 ? seconds * 1000 : undefined);
}

/** `data` of an answer of both APIs. A question that is not answered in this time is asked again, or its error shown. */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  const isQuestion = options.method === undefined;
  const response = await request(
    path,
    isQuestion ? { signal: AbortSignal.timeout(answerMs), ...options } : options,
  );
  return ((await response.json()) as { data: T }).data;
}

type Reason = {
  readonly message: string;
  readonly faults: readonly Fault[];
  readonly code?: string | undefined;
  readonly manifest?: string | undefined;
};

async function readReason(response: Response): Promise<Reason> {
  const unknown = `HTTP ${response.status}`;
  try {
    const {
      detail,
      message,
      code,
      manifest,
      errors = [],
    } = (await response.json()) as {
      detail?: string;
      message?: string;
      code?: string;
      manifest?: string;
      errors?: readonly { field: string; mustBe: string; value?: string }[];
    };
    const faults = errors.map(({ field, mustBe, value }) => ({
      field,
      says: `Must be ${mustBe}${value === undefined ? '' : `, got ${value}`}`,
    }));
    return { message: detail ?? message ?? unknown, faults, code, manifest };
  } catch {
    return { message: unknown, faults: [] };
  }
}

/** With a token or a code; without either it finds the session of the browser's cookie. */
export async function signIn(given: { token: string } | { code: string } | object): Promise<boolean> {
  const response = await request(sessions, { method: 'POST', body: given });
  session.value = response.status === 204 ? undefined : ((await response.json()) as Session);
  if (session.value !== undefined) [ended.value, tokenEndsMs] = [undefined, Infinity];
  return session.value !== undefined;
}

export async function signOut(): Promise<void> {
  await request(sessions, { method: 'DELETE' });
  session.value = undefined;
}

/** Set while the server cannot be reached: since when. */
export const lostSince = signal<Date | undefined>(undefined);

const usualMs = 5_000;
const maxMs = 60_000;

export type Live<T> = {
  readonly data?: T;
  readonly error?: string;
  /** Asks at once. */
  readonly reload: () => void;
};

/**
 * Asks again every five seconds, or `everyMs`, while the page is in view, and ever more slowly while the server fails. The last answer stays.
 * `key` names the question: another one begins anew.
 */
export function useLive<T>(key: string, ask: () => Promise<T>, everyMs = usualMs): Live<T> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<{ key: string; data?: T; error?: string }>({ key });

  useEffect(() => {
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = everyMs;
    // Looking again does not wait for an answer that may never come: the older round ends without a word.
    let newest = 0;
    const round = async (): Promise<void> => {
      // A hidden page asks nothing. It asks once it is seen again.
      if (document.hidden) return;
      const own = (newest += 1);
      const isOvertaken = (): boolean => !isCurrent || own !== newest;
      try {
        const data = await ask();
        lostSince.value = undefined;
        if (isOvertaken()) return;
        waitMs = everyMs;
        setState({ key, data });
      } catch (error) {
        if (isOvertaken()) return;
        waitMs = Math.min(maxMs, waitMs * 2);
        const isRefused = error instanceof Refused;
        if (isRefused) waitMs = Math.max(waitMs, error.retryAfterMs ?? 0);
        if (!isRefused || error.status >= 502) lostSince.value ??= new Date();
        else setState((last) => ({ ...(last.key === key ? last : { key }), error: error.message }));
      }
      timer = setTimeout(() => void round(), waitMs);
    };
    const look = (): void => {
      clearTimeout(timer);
      void round();
    };
    document.addEventListener('visibilitychange', look);
    for (const name of ['online', 'offline']) addEventListener(name, look);
    void round();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
      for (const name of ['online', 'offline']) removeEventListener(name, look);
    };
  }, [key, turn]);

  const { data, error } = state.key === key ? state : {};
  return {
    ...(data === undefined ? {} : { data }),
    ...(error === undefined ? {} : { error }),
    reload: () => setTurn((last) => last + 1),
  };
}

type Asked<T> = { readonly isAsking?: true; readonly data?: T; readonly error?: Error };

/**
 * The answer to a question behind a button, or why it failed: then the focus goes to `field`. An answer counts only while
 * nothing newer was asked, and the question was not forgotten.
 */
export function useAsked<T>(field?: { readonly current: HTMLElement | null }) {
  const newest = useRef(0);
  const [state, setState] = useState<Asked<T>>({});
  const begin = (next: Asked<T>): number => {
    setState(next);
    return (newest.current += 1);
  };
  const ask = async (question: () => Promise<T>): Promise<void> => {
    const own = begin({ isAsking: true });
    const answered: Asked<T> = await question().then(
      (data) => ({ data }),
      (error: Error) => ({ error }),
    );
    if (own !== newest.current) return;
    setState(answered);
    if (answered.error !== undefined) field?.current?.focus();
  };
  return { ...state, ask, forget: () => void begin({}) };
}
