import { invalidInput } from '../core/errors.js';
import { Settings } from '../core/settings.js';
import { given } from '../core/units/given.js';
import { readUsageSettings } from '../adapters/store/usage-settings.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Which store the server uses, by the same variables. Throws SettingsError. */
export function readStore(env: Environment) {
  const settings = new Settings(env);
  return settings.finish(readUsageSettings(settings));
}

/** How to connect to the shared store. Throws SettingsError and INVALID_INPUT. */
export function readPostgres(env: Environment, applicationName: string) {
  const usage = readStore(env);
  if (usage.kind === 'embedded')
    throw invalidInput({
      field: 'PAYMASTER_DATABASE_URL',
      expected: 'a PostgreSQL',
      value: `file:${usage.path}`,
    });
  const { address, passwordFile } = usage;
  return { address, ...given({ passwordFile }), applicationName };
}
