import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isManifestName } from '../../adapters/manifests/manifest-files.js';
import {
  parseManifest,
  type ManifestObject,
  type ManifestProblem,
} from '../../adapters/manifests/parse-manifest.js';
import { readPlatformDefaults } from '../../core/config/platform-settings.js';
import { DomainError, errorMessage } from '../../core/errors.js';
import type { Tree } from '../../core/meta/field-tree.js';
import { group } from '../../core/meta/meta.js';
import { readWebhookRules } from '../../core/policy/webhook/private-hosts.js';
import { isKind } from '../../core/resources/kinds.js';
import { Settings } from '../../core/settings.js';
import { checkManifests, type CheckRules } from './check-manifests.js';
import { listFindings, type Report } from './report.js';

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
  const findings = listFindings([...problems, ...around.problems], result);
  return { files, leftOut, objects: objects.length, findings };
}

type ReadManifests = Readonly<ReturnType<typeof readFiles>>;

/**
 * Reads files, and folders with their subfolders; in folders only files that end in .yaml or .yml. Throws
 * INVALID_INPUT for a path that cannot be read: a wrong argument, not a mistake in a manifest.
 */
export function readFiles(paths: readonly string[]) {
  const files = [...new Set(paths.flatMap(listManifests))];
  const leftOut: { file: string; what: string }[] = [];
  const parsed = files.map((file) =>
    parseManifest(file, readText(file), (document) => {
      if (!isForeign(document)) return false;
      leftOut.push({ file, what: `${String(document['apiVersion'])} ${String(document['kind'])}` });
      return true;
    }),
  );
  return {
    files,
    objects: parsed.flatMap(({ objects }) => objects),
    problems: parsed.flatMap(({ problems }) => problems),
    /** Documents of other APIs, such as `apps/v1 Deployment`: the operator does not check them. */
    leftOut,
  };
}

function listManifests(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.split('/').some((part) => part.startsWith('.')))
      .filter((name) => isManifestName(name.slice(name.lastIndexOf('/') + 1)))
      .sort()
      .map((name) => join(path, name))
      .filter((file) => statSync(file).isFile());
  } catch (error) {
    throw unreadable(path, error);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(path: string, cause: unknown): DomainError {
  return new DomainError('INVALID_INPUT', `${path} cannot be read: ${errorMessage(cause)}`, { cause });
}

/**
 * A document of another API. A document of one of our kinds or of our group, or a List, is ours, whatever else is wrong
 * with it.
 */
function isForeign({ apiVersion, kind }: Tree): boolean {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return false;
  return !apiVersion.startsWith(`${group}/`) && !isKind(kind) && kind !== 'List';
}
