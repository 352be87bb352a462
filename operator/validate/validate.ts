import type { ManifestObject, ManifestProblem } from '../../adapters/manifests/parse-manifest.js';
import { readPlatformDefaults } from '../../core/config/platform-settings.js';
import { DomainError } from '../../core/errors.js';
import { readWebhookRules } from '../../core/policy/webhook/private-hosts.js';
import { Settings } from '../../core/settings.js';
import { findingsOf } from './findings.js';
import { checkManifests, type CheckRules } from './check-manifests.js';
import { readFiles, type ReadManifests } from './read-files.js';
import type { Report } from './report.js';

/** `paths`: files and folders to check; `context`: those that are there already. `isDev`: as under `make run`. */
type ValidateOptions = {
  readonly paths: readonly string[];
  readonly context: readonly string[];
  readonly isDev: boolean;
};

/**
 * Checks manifests as the operator would. The platform's settings are those of the operator's environment
 * (`PAYMASTER_QUOTA_…`, `PAYMASTER_DEFAULT_CONTRACT_ACTION`, `PAYMASTER_WEBHOOK_…`). Throws INVALID_INPUT for paths that
 * hold no manifest of ours or cannot be read, and SettingsError.
 */
export async function validate(
  { paths, context, isDev }: ValidateOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Report> {
  const read = readFiles(paths);
  if (read.objects.length + read.problems.length === 0)
    throw new DomainError('INVALID_INPUT', `no manifest of ours in ${paths.join(', ')}`);
  return validateManifests(read, readFiles(context), isDev, env);
}

/** The same of manifests that were read; `around` is there already. */
export async function validateManifests(
  { files, objects, problems, leftOut }: ReadManifests,
  around: { readonly objects: readonly ManifestObject[]; readonly problems: readonly ManifestProblem[] },
  isDev: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Report> {
  const settings = new Settings(env);
  const rules: CheckRules = settings.finish({
    platform: readPlatformDefaults(settings),
    webhookRules: {
      ...readWebhookRules(settings),
      ...(isDev ? { allowHttp: true, allowLoopback: true } : {}),
    },
  });
  const result = await checkManifests({ objects, context: around.objects }, rules);
  const findings = findingsOf([...problems, ...around.problems], result);
  return { files, leftOut, objects: objects.length, findings };
}
