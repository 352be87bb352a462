import express from 'express';
import type { IRouter, Request } from 'express';
import type { PlatformTokens } from '../../../core/secrets.js';
import type { CredentialOf } from '../auth-token.js';
import type { Endpoint } from '../endpoint.js';
import { credentialsRequired } from '../errors.js';
import { readParameters } from '../parameters.js';
import { readParams, type RouterDeps } from '../router.js';
import { send } from '../send.js';

/** The platform's name where organisations share a bound or a queue: no namespace has such a name. */
export const platformOwner = '(platform)';

type PlatformRouterDeps = Pick<RouterDeps, 'tools' | 'spend' | 'credentialOf'> & {
  readonly tokens: PlatformTokens | undefined;
};

/**
 * Routes what is for the platform, which reads and changes nothing. Apart from the router of organisations: a token is looked up in one
 * place or the other, so that none can reach both.
 */
export function createPlatformRouter(endpoints: readonly Endpoint[], deps: PlatformRouterDeps): IRouter {
  const router = express.Router();
  const { tools, spend } = deps;
  for (const endpoint of endpoints) {
    const { path, parameters = {}, cost } = endpoint;
    router.get(path, async (request, response) => {
      response.locals['route'] = `GET ${path}`;
      await requirePlatform(endpoint, request, deps);
      const { search } = new URL(request.url, 'http://localhost');
      const given = readParameters(search, parameters);
      await spend(cost, { tenant: platformOwner, tokenName: '' }, async () => {
        await send(
          request,
          response,
          endpoint,
          await handle(endpoint, { given, params: readParams(request) }),
        );
      });
    });
  }
  return router;

  async function handle(endpoint: Endpoint, call: { readonly given: object; readonly params: object }) {
    // The type of the rows makes sure that handlers of the platform need no more than this.
    return endpoint.handle(tools, call as unknown as Parameters<Endpoint['handle']>[1]);
  }
}

/** Throws CREDENTIALS_REQUIRED, also for tokens of organisations. */
async function requirePlatform(
  endpoint: Endpoint,
  request: Request,
  {
    tokens,
    credentialOf,
  }: { readonly tokens: PlatformTokens | undefined; readonly credentialOf: CredentialOf },
): Promise<void> {
  const credential = credentialOf(request);
  const name = credential && (await tokens?.nameOf(credential.sha256));
  if (name === undefined) throw credentialsRequired(endpoint);
}
