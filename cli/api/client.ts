import { DomainError, errorMessage } from '../../core/errors.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { managePrefix } from '../../server/dashboard/call.js';
import { Refused } from '../terminal.js';
import { needsPlatform, platformAlone, type Server } from './server.js';

export type Request = {
  readonly method: string;
  /** Below {@link managePrefix}, with values in place of its parameters. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The option that says a field, in messages; absent: fields are named as the API names them. */
  readonly optionOf?: OptionOf;
};
type OptionOf = (field: string) => string | undefined;

const timeoutMs = 120_000;

/** The answer is the same for a token that is wrong, has expired, was revoked, or is for something else. */
export class NotAccepted extends Refused {
  constructor(hint: string) {
    super(`the server does not accept the token: it is wrong, has expired or was revoked; ${hint}`);
  }
}

type Answer = { readonly status: number; readonly text: string; readonly isPending: boolean };

/**
 * `data` of the answer. Throws UNAVAILABLE when the server does not answer now, INVALID_INPUT when it does not take what was asked,
 * NotAccepted for a token that it does not take here, and Refused for any other no. `tell` gets what people should know of a write.
 */
export async function callServer(
  server: Server,
  request: Request,
  tell: (message: string) => void = () => undefined,
): Promise<unknown> {
  const { text, isPending } = await answerFrom(server, request);
  if (isPending)
    tell('it is saved, and the servers that sign do not follow it yet: "paymaster doctor" says why');
  const body = parseJson(text);
  if (text === '') return undefined;
  if (isObject(body) && 'data' in body) {
    const { warnings } = body;
    if (Array.isArray(warnings)) for (const each of warnings) tell(String(each));
    return body['data'];
  }
  throw new DomainError(
    'UNAVAILABLE',
    `${server.url} does not answer as the management API: is it the dashboard's address?`,
  );
}

/** The text of the answer, in the form that `accept` of the headers asks for. Throws as {@link callServer}. */
export async function textFrom(server: Server, request: Request): Promise<string> {
  return (await answerFrom(server, request)).text;
}

async function answerFrom(server: Server, request: Request): Promise<Answer> {
  const answer = await ask(server, request);
  const { status, text } = answer;
  if (status >= 200 && status < 300) return answer;
  const body = parseJson(text);
  const message = isObject(body) ? describe(body, request.optionOf) : '';
  if (status === 401)
    throw new NotAccepted(request.path.startsWith('/platform/') ? needsPlatform : platformAlone);
  if (message === '')
    throw new DomainError('UNAVAILABLE', `HTTP ${status}: is ${server.url} the dashboard's address?`);
  if (status === 429 || status >= 500) throw new DomainError('UNAVAILABLE', message);
  if (status === 400 || status === 422) throw new DomainError('INVALID_INPUT', message);
  throw new Refused(message);
}

function ask(
  { url, token }: Server,
  { method, path, query = {}, body, headers = {} }: Request,
): Promise<Answer> {
  const search = new URLSearchParams(query).toString();
  return send(url, `${managePrefix}${path}${search === '' ? '' : `?${search}`}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${token}`, ...headers },
    body,
  });
}

/** Throws UNAVAILABLE, which names the server without the rest of the address: it may hold a key. */
export async function send(
  url: string,
  path: string,
  { body, headers, method }: { method: string; headers: Readonly<Record<string, string>>; body: unknown },
): Promise<Answer> {
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A redirect could take the token to a server that it is not for.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const isPending = response.headers.get('x-programmed') === 'false';
    return { status: response.status, text: await response.text(), isPending };
  } catch (cause) {
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    throw new DomainError('UNAVAILABLE', `${new URL(url).origin} does not answer: ${errorMessage(reason)}`, {
      cause,
    });
  }
}

/** RFC 9457: each field once; several fields have a line each. */
function describe(
  { detail, title, errors }: Readonly<Record<string, unknown>>,
  optionOf: OptionOf = () => undefined,
): string {
  const says = String([detail, title].find((each) => typeof each === 'string') ?? '');
  const fields = Array.isArray(errors) ? errors.filter(isObject) : [];
  const [raw, named] = [() => undefined, optionOf].map((of) => fields.map((each) => describeField(each, of)));
  const [only = '', ...others] = raw ?? [];
  // Mostly the sentence is made of the fields.
  const isMadeOfFields = fields.length > 0 && raw?.every((each) => says.includes(each));
  const isInFields = others.length === 0 && only.includes(says);
  const lines = isMadeOfFields || isInFields ? (named ?? []) : [inOptions(says, optionOf), ...(named ?? [])];
  return (isMadeOfFields && fields.length > 1 ? [title, ...lines] : lines).join('\n  ');
}

function describeField(
  { field, mustBe, value }: Readonly<Record<string, unknown>>,
  optionOf: OptionOf,
): string {
  const name = optionOf(String(field)) ?? String(field);
  return `${name} must be ${inOptions(String(mustBe), optionOf)}${typeof value === 'string' ? `, got ${value}` : ''}`;
}

/** `spec.webhook.url` and `cascade=true` of a sentence, as options. */
function inOptions(text: string, optionOf: OptionOf): string {
  return text
    .replace(/\bspec(?:\.[A-Za-z]+|\[[0-9]+\])+/g, (field) => optionOf(field) ?? field)
    .replace(/\b([a-z][A-Za-z]*)=true\b/g, (whole, name: string) => optionOf(name) ?? whole);
}
