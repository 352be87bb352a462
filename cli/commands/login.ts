import type { Command } from 'commander';
import { isObject } from '../../core/schema/json-value.js';
import { quote } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import { callServer, NotAccepted } from '../api/client.js';
import { contextsFile, readContexts, requireContextName, writeContexts } from '../api/contexts.js';
import {
  insecureText,
  needsPlatform,
  requireToken,
  requireUrl,
  unknownContext,
  type Server,
  type Whose,
} from '../api/server.js';
import {
  addNoun,
  Refused,
  say,
  show,
  unlessYes,
  withFormat,
  withYes,
  type Format,
  type Terminal,
} from '../terminal.js';

export function addLogin(program: Command, terminal: Terminal): void {
  program
    .command('login')
    .description('Keep a server and a token for it, which is read without echo, or from stdin')
    .argument('<url>', "the dashboard's address, e.g. https://paymaster.example.org")
    .option(
      '--context <name>',
      'how it is called; default: "default", and "platform" of a token of the platform',
    )
    .option('--insecure', insecureText)
    .action((url: string, options: LoginOptions) => login(terminal, url, options));
  const noun = addNoun(program, 'context', 'The servers of "paymaster login"');
  withFormat(noun.command('list'))
    .description('Show them, without their tokens')
    .action(({ output }: { readonly output: Format }) => list(terminal, output));
  noun
    .command('use')
    .description('Use a server where none is named')
    .argument('<name>')
    .action((name: string) => change(terminal, name, (contexts) => ({ contexts, current: name })));
  withYes(noun.command('delete'))
    .description('Forget a server and its token, which stays valid there')
    .argument('<name>')
    .action((name: string, { yes }: { readonly yes?: true }) =>
      change(terminal, name, (contexts, current) => {
        const kept = contexts.filter((each) => each.name !== name);
        for (const { url } of contexts.filter((each) => !kept.includes(each)))
          say(terminal, `${quote(name)} is the server ${url} and its token`);
        if (yes !== true) throw unlessYes('deleted', 'deletes it here');
        return { contexts: kept, ...given({ current: current === name ? undefined : current }) };
      }),
    );
}

type LoginOptions = { readonly context?: string; readonly insecure?: true };
type Contexts = ReturnType<typeof readContexts>;

async function login(terminal: Terminal, text: string, { context, insecure }: LoginOptions) {
  const url = requireUrl('url', text, insecure);
  // Before the token is asked for: what cannot be written is not worth typing one.
  readContexts(terminal);
  if (context !== undefined) requireContextName(context);
  const token = requireToken(await terminal.readSecret(`token for ${url}: `));
  const { says, whose } = await identify({ url, token });
  const platform = whose === 'platform' ? true : undefined;
  const name = context ?? (platform ? 'platform' : 'default');
  const { current, contexts } = readContexts(terminal);
  writeContexts(terminal, {
    // "paymaster platform" finds its token without being told.
    ...given({ current: platform ? current : name }),
    contexts: [
      ...contexts.filter((each) => each.name !== name),
      { name, url, token, ...given({ insecure, platform }) },
    ],
  });
  say(terminal, `${says}; kept as context ${quote(name)} in ${contextsFile(terminal)}`);
}

/** A token is taken in one of two places, and that shows whose it is. */
async function identify(server: Server): Promise<{ readonly says: string; readonly whose: Whose }> {
  try {
    return {
      says: describeMe(await callServer(server, { method: 'get', path: '/me' })),
      whose: 'organisation',
    };
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    try {
      await callServer(server, { method: 'get', path: '/platform/organisations', query: { limit: '1' } });
      return { says: 'token of the platform, for "paymaster platform" alone', whose: 'platform' };
    } catch (second) {
      throw second instanceof Refused ? new NotAccepted(needsPlatform) : second;
    }
  }
}

function describeMe(me: unknown): string {
  const { organisation, token } = isObject(me) ? me : {};
  const [whose, what] = [isObject(organisation) ? organisation : {}, isObject(token) ? token : {}];
  const scopes = Array.isArray(what['scopes']) ? what['scopes'].join(', ') : '';
  const until = typeof what['expiresAt'] === 'string' ? `, until ${what['expiresAt']}` : '';
  return `organisation ${String(whose['name'])}, token ${quote(what['name'])} (${scopes})${until}`;
}

function list(terminal: Terminal, format: Format): void {
  const { current, contexts } = readContexts(terminal);
  const shown = contexts.map(({ token: _secret, ...each }) => ({ ...each, current: each.name === current }));
  const text = shown
    .map(
      (each) => `${each.current ? '*' : ' '} ${each.name}  ${each.url}${each.platform ? '  (platform)' : ''}`,
    )
    .join('\n');
  show(terminal, format, {
    text: text || 'no server is kept: "paymaster login URL"',
    data: { contexts: shown },
  });
}

function change(
  terminal: Terminal,
  name: string,
  next: (contexts: Contexts['contexts'], current: string | undefined) => Contexts,
): void {
  const { contexts, current } = readContexts(terminal);
  if (!contexts.some((each) => each.name === name)) throw unknownContext(name, contexts);
  writeContexts(terminal, next(contexts, current));
}
