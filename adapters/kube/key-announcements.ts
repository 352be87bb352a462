import { invalidInput } from '../../core/errors.js';
import type { KeyAnnouncement, KeyAnnouncements } from '../../core/master-keys.js';
import {
  createNamedConfigMap,
  type ConfigMap,
  type ConfigMapPlace,
  type ReadConfigMap,
} from './config-map.js';

export const masterKeyConfigMap = 'paymaster-master-keys';

/**
 * The announcement in a ConfigMap of the system namespace. `apiKeys` and `webhook` each hold fingerprints separated by
 * spaces, the key in force first. The operator writes it with the version that it has read; the servers may only read
 * it.
 */
export function createKubeKeyAnnouncements(
  deps: ConfigMapPlace & {
    readonly read: ReadConfigMap;
  },
): KeyAnnouncements {
  const map = createNamedConfigMap({ ...deps, name: masterKeyConfigMap });
  let present: ConfigMap | undefined;
  return {
    async read() {
      present = await deps.read(masterKeyConfigMap);
      return present === undefined ? undefined : parse(present.data ?? {});
    },
    write: ({ apiKeys, webhook }) =>
      map.write(present, { apiKeys: apiKeys.join(' '), webhook: webhook.join(' ') }),
  };
}

const fingerprints = /^[0-9a-f]{16}( [0-9a-f]{16})?$/;

function parse({ apiKeys = '', webhook = '' }: NonNullable<ConfigMap['data']>): KeyAnnouncement {
  const problems = Object.entries({ apiKeys, webhook }).flatMap(([name, text]) =>
    fingerprints.test(text)
      ? []
      : [
          {
            field: `${name} of ConfigMap ${masterKeyConfigMap}`,
            expected: 'one or two fingerprints of 16 hex digits',
          },
        ],
  );
  if (problems.length > 0) throw invalidInput(problems);
  return { apiKeys: apiKeys.split(' '), webhook: webhook.split(' ') };
}
