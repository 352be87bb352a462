import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { DomainError, invalidInput, errorMessage, quote } from '../../core/errors.js';
import type { Terminal } from '../terminal.js';
import { readContexts, type Context, type Contexts } from './contexts.js';

/** Where requests go, and with which token. */
export type Server = { readonly url: string; readonly token: string };
export type ServerOptions = { readonly context?: string; readonly insecure?: boolean };
/** Who issued the token: the endpoints of the one refuse tokens of the other. */
export type Whose = 'organisation' | 'platform';

const [urlVariable, tokenVariable] = ['PAYMASTER_URL', 'PAYMASTER_TOKEN_FILE'];
/** Says what needs a token of the platform, and where such tokens are set. */
export const needsPlatform =
  '"paymaster platform" needs a token of the platform (setting PAYMASTER_PLATFORM_TOKENS_FILE of the dashboard)';
export const platformAlone = 'one of the platform is for "paymaster platform" alone';
export const insecureText = 'send the token over http, where others on the way can read it';

/** The token is not an option: everybody on the machine can see arguments. */
export function withServer(command: Command): Command {
  return command
    .option(
      '--context <name>',
      `a server of "paymaster login"; default: ${urlVariable} with ${tokenVariable}, else the current one`,
    )
    .option('--insecure', insecureText);
}

/** Whether a server is chosen for an organisation without an option, by the environment or by a sign-in. */
export function hasServer(terminal: Pick<Terminal, 'env'>): boolean {
  const { env } = terminal;
  if (env[urlVariable] || env[tokenVariable]) return true;
  const { current, contexts } = readContexts(terminal);
  const found = contexts.find((each) => each.name === current);
  return found === undefined ? current !== undefined : contextOwner(found) === 'organisation';
}

/** Throws INVALID_INPUT, also where nobody has signed in with a token that this needs. */
export function readServer(
  terminal: Pick<Terminal, 'env'>,
  { context, insecure }: ServerOptions,
  whose: Whose = 'organisation',
): Server {
  const { env } = terminal;
  const [url, file] = [env[urlVariable] || undefined, env[tokenVariable] || undefined];
  if (context === undefined && (url !== undefined || file !== undefined)) {
    // A URL from here with a token from the configuration would send that token to the wrong server.
    if (url === undefined || file === undefined)
      throw invalidInput({ field: urlVariable, expected: `given together with ${tokenVariable}` });
    return { url: requireUrl(urlVariable, url, insecure), token: readToken(file) };
  }
  const chosen = chooseContext(readContexts(terminal), context, whose);
  return {
    url: requireUrl(`url of the context ${chosen.name}`, chosen.url, chosen.insecure ?? insecure),
    token: chosen.token,
  };
}

function chooseContext({ current, contexts }: Contexts, named: string | undefined, whose: Whose): Context {
  const wanted = named ?? current;
  const found = contexts.find((each) => each.name === wanted);
  if (found !== undefined && contextOwner(found) === whose) return found;
  if (named === undefined && whose === 'platform') return onlyPlatform(contexts);
  if (found !== undefined)
    throw new DomainError(
      'INVALID_INPUT',
      `the context ${quote(found.name)} holds a token of the ${contextOwner(found)}: ${whose === 'platform' ? needsPlatform : platformAlone}`,
    );
  if (wanted !== undefined) throw unknownContext(wanted, contexts);
  throw new DomainError(
    'INVALID_INPUT',
    `no server is chosen: "paymaster login URL", or ${urlVariable} and ${tokenVariable}`,
  );
}

export function unknownContext(name: string, contexts: readonly Context[]): DomainError {
  return new DomainError(
    'INVALID_INPUT',
    `no context is called ${quote(name)} (known: ${formatNames(contexts)}): "paymaster login URL --context ${name}"`,
  );
}

/** The only context of the platform: who has one need not name it. Throws INVALID_INPUT for none, or several. */
function onlyPlatform(contexts: readonly Context[]): Context {
  const suitable = contexts.filter((each) => contextOwner(each) === 'platform');
  const [first, ...further] = suitable;
  if (first === undefined)
    throw new DomainError('INVALID_INPUT', `${needsPlatform}: "paymaster login URL" keeps one`);
  if (further.length === 0) return first;
  throw new DomainError(
    'INVALID_INPUT',
    `several contexts hold a token of the platform (${formatNames(suitable)}): choose one by --context`,
  );
}

function contextOwner({ platform }: Context): Whose {
  return platform === true ? 'platform' : 'organisation';
}

function formatNames(contexts: readonly Context[]): string {
  return contexts.map((each) => each.name).join(', ') || 'none';
}

/**
 * The URL without a slash at its end. Throws INVALID_INPUT for one that would show the token: over http to another machine, or with
 * user, query or fragment, which proxies write into their logs.
 */
export function requireUrl(field: string, text: string, insecure = false): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (url === undefined || !isPlain || !['http:', 'https:'].includes(url.protocol))
    throw invalidInput({ field, expected: 'an http or https URL without user, query and fragment' });
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !insecure)
    throw invalidInput({
      field,
      expected: 'https: over http others on the way can read the token (--insecure allows it)',
      value: quote(url.origin),
    });
  return url.href.replace(/\/$/, '');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function readToken(file: string): string {
  try {
    return requireToken(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    throw new DomainError('INVALID_INPUT', `${tokenVariable}: ${errorMessage(cause)}`, { cause });
  }
}

/** Throws INVALID_INPUT, which quotes nothing of it. */
export function requireToken(text: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]{1,1024}$/.test(token)) return token;
  throw invalidInput({ field: 'the token', expected: 'one line of at most 1024 visible characters' });
}
