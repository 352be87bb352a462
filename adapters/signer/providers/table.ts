import type { Environment } from '../kind.js';
import { aws } from './aws/provider.js';
import { file } from './file/provider.js';
import { gcp } from './gcp/provider.js';
import type { KeyProvider } from './provider.js';

/** Providers of keys, by the `provider` of a signer's file. */
export const keyProviders = { aws, gcp, file } as const satisfies Record<string, KeyProvider>;
export type ProviderName = keyof typeof keyProviders;

/** The row of a name that a schema has let pass. */
export function providerOf(name: ProviderName): KeyProvider {
  return keyProviders[name];
}

export const providerNames = Object.keys(keyProviders) as readonly ProviderName[];
export const signingProviderNames = providerNames.filter((name) => providerOf(name).signing !== undefined);

/** The part of an environment that providers read. */
export function providerVariables(environment: Environment): Environment {
  const names = Object.values(keyProviders).flatMap(({ variables }: KeyProvider) => variables);
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
