import type { EntryPointRules } from './rules.js';
import { entryPoint06 } from './v06.js';
import { entryPoint07 } from './v07.js';
import { entryPoint08 } from './v08.js';
import { entryPoint09 } from './v09.js';
import type { EntryPointVersion } from './version.js';

/** One row per version. */
export const entryPointRules = {
  '0.6': entryPoint06,
  '0.7': entryPoint07,
  '0.8': entryPoint08,
  '0.9': entryPoint09,
} as const satisfies { [V in EntryPointVersion]: EntryPointRules & { readonly version: V } };
