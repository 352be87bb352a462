/**
 * The bill of materials (CycloneDX 1.6) of the image and of the command line: the packages that both contain, and the Node.js that the image
 * runs. The same lock file gives the same bill: it has no time, and its serial number is a hash of the rest.
 */
import { createHash } from 'node:crypto';
import { packagesOfImage } from '../image/packages.mjs';

export function bill(lock, { name, version, license, description }, nodeVersion) {
  const folders = packagesOfImage(lock);
  const components = [
    { type: 'platform', name: 'node', version: nodeVersion, purl: `pkg:generic/node@${nodeVersion}` },
    ...Object.entries(lock.packages)
      .filter(
        ([path, { dev, optional }]) => !dev && !optional && folders.some((folder) => isWithin(path, folder)),
      )
      .map(([path, entry]) => component(path, entry)),
  ];
  const unique = [
    ...new Map(components.map((each) => [each.purl, { 'bom-ref': each.purl, ...each }])).values(),
  ];
  unique.sort((one, other) => (one.purl < other.purl ? -1 : 1));
  const content = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `pkg:npm/${name}@${version}`,
        name,
        version,
        description,
        licenses: [{ license: { id: license } }],
      },
    },
    components: unique,
  };
  return { ...content, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}` };
}

function isWithin(path, folder) {
  return path === folder || path.startsWith(`${folder}/`);
}

function component(path, { version, license, integrity }) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const [, algorithm, digest] = /^(sha\d+)-(.*)$/.exec(integrity ?? '') ?? [];
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license === undefined
      ? {}
      : {
          licenses: [
            / (?:AND|OR|WITH) /.test(license) ? { expression: license } : { license: { id: license } },
          ],
        }),
    ...(digest === undefined
      ? {}
      : {
          hashes: [
            {
              alg: algorithm.toUpperCase().replace('SHA', 'SHA-'),
              content: Buffer.from(digest, 'base64').toString('hex'),
            },
          ],
        }),
  };
}

/** A name-based UUID (version 8: by a hash of our choice). */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
