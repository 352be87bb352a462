import { optional } from '../../../core/settings.js';
import { aws } from './aws/provider.js';
import { file } from './file/provider.js';
import { gcp } from './gcp/provider.js';
import type { KeyProvider } from './provider.js';

/** Providers of keys, by the `provider` of a signer's file. */
export const keyProviders = { aws, gcp, file } as const satisfies Record<string, KeyProvider>;
export type ProviderName = keyof typeof keyProviders;

/** The row of a name that a schema has let pass. */
export function findProvider(name: ProviderName): KeyProvider {
  return keyProviders[name];
}

export const providerNames = Object.keys(keyProviders) as readonly ProviderName[];
export const signingProviderNames = providerNames.filter((name) => findProvider(name).signing !== undefined);

/** The variables that providers read. */
export const providerSettings = Object.fromEntries(
  Object.entries<KeyProvider>(keyProviders).flatMap(([provider, { variables }]) =>
    variables.map((name) => [name, optional(name, `Of keys that ${provider} holds.`)]),
  ),
);
