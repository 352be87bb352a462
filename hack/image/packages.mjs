/**
 * Folders of the packages that are in the image, of a parsed package-lock.json. Neither development packages nor optional ones;
 * nested packages come with the one that they lie in.
 */
export function packagesOfImage({ packages }) {
  return Object.entries(packages)
    .filter(([path, entry]) => path !== '' && !entry.dev && !entry.optional && !entry.devOptional)
    .map(([path]) => path)
    .filter((path) => path.lastIndexOf('node_modules/') === 0);
}
