import type { ApiEndpoint } from './endpoints.js';

/** `paymaster NOUN VERB`, or `paymaster NOUN` where there is only one action. */
type CommandName = { readonly noun: string; readonly verb?: string };

type Route = Pick<ApiEndpoint, 'method' | 'path'>;

/** Where people look for something else than what follows from the path. */
const ownNames: Readonly<Record<string, CommandName>> = {
  'get /paymasters/:name/keys': { noun: 'key', verb: 'list' },
  'get /paymasters/:name/keys/:key': { noun: 'key', verb: 'show' },
  'post /paymasters/:name/keys': { noun: 'key', verb: 'add' },
  'delete /paymasters/:name/keys/:key': { noun: 'key', verb: 'revoke' },
};

const verbs = { post: 'create', put: 'set', patch: 'change', delete: 'delete' } as const;

/**
 * The command of an endpoint, from its method and path: `GET /decisions/:id` is `decision show`, `GET /paymasters/:name/rules` is
 * `paymaster rules`. So an endpoint that is added is a command, and none is forgotten.
 */
export function nameCommand({ method, path }: Route, others: readonly Route[]): CommandName {
  const own = ownNames[`${method} ${path}`];
  if (own !== undefined) return own;
  const parts = path.split('/').filter((part) => part !== '');
  const [first = '', ...further] = parts.filter((part) => !part.startsWith(':'));
  const noun = singular(first);
  if (further.length > 0) {
    const what = further.join('-');
    // What can only be sent is what is done: POST /paymasters/:name/suspend.
    const isAct = method === 'post' && !others.some((each) => each.path === path && each.method === 'get');
    return { noun, verb: method === 'get' || isAct ? what : `${verbs[method]}-${what}` };
  }
  // What has no plural is nothing that can be created: POST /what-if.
  if (method === 'post' && noun === first) return { noun };
  if (method !== 'get') return { noun, verb: verbs[method] };
  if (parts.length > 1) return { noun, verb: 'show' };
  return noun === first ? { noun } : { noun, verb: 'list' };
}

export function singular(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}
