import { signal } from '@preact/signals';

export type Me = {
  readonly organisation: { readonly name: string };
  readonly token: {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly expiresAt: string | null;
  };
};

/** Undefined: signed out. The token itself is never kept; the cookie that stands for it is not readable here. */
export const session = signal<{ readonly csrf: string } | undefined>(undefined);

/** A call that the server refused. */
export class Refused extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** The YAML to commit, where a manifest owns the field. */
  readonly manifest: string | undefined;

  constructor(status: number, { message, manifest }: Reason, retryAfterMs: number | undefined) {
    super(message);
    this.status = status;
    this.manifest = manifest;
    this.retryAfterMs = retryAfterMs;
  }
}

type Options = {
  readonly method?: string;
  readonly body?: object;
  readonly accept?: string;
  readonly signal?: AbortSignal;
};

const answerMs = 30_000;

/** Relative to this page, so that a proxy may serve everything below another path. */
const base = '..';

export async function request(path: string, options: Options = {}): Promise<Response> {
  const { method = 'GET', body, accept = 'application/json', signal } = options;
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      accept,
      ...(session.value === undefined ? {} : { 'x-csrf-token': session.value.csrf }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  if (response.ok) return response;
  if (response.status === 401) session.value = undefined;
  const seconds = Number(response.headers.get('retry-after'));
  throw new Refused(response.status, await reasonOf(response), seconds > 0 ? seconds * 1000 : undefined);
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

type Reason = { readonly message: string; readonly manifest?: string | undefined };

async function reasonOf(response: Response): Promise<Reason> {
  const unknown = `HTTP ${response.status}`;
  try {
    const { detail, message, manifest } = (await response.json()) as {
      detail?: string;
      message?: string;
      manifest?: string;
    };
    return { message: detail ?? message ?? unknown, manifest };
  } catch {
    return { message: unknown };
  }
}

/** With a token or a code; without either it finds the session of the browser's cookie. */
export async function signIn(given: { token: string } | { code: string } | object): Promise<boolean> {
  const response = await request('/console/session', { method: 'POST', body: given });
  session.value = response.status === 204 ? undefined : ((await response.json()) as { csrf: string });
  return session.value !== undefined;
}

export async function signOut(): Promise<void> {
  await request('/console/session', { method: 'DELETE' });
  session.value = undefined;
}
