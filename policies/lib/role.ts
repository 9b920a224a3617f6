import { text } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { type ContainerRole, SERVICES, serviceNamed } from "../../components/services";
import type { DeclaredResource } from "./container";
import { holdsVllm, repositoryIn } from "./imageUses";

/**
 * Well-known images: what each serves, its name, and the package that it is made for, whose release
 * its tags name.
 */
const KNOWN_IMAGES: readonly {
  readonly role: ContainerRole;
  readonly name: Pick<RegExp, "test">;
  readonly package: string;
}[] = [
  { role: "inference-server", name: { test: holdsVllm }, package: "vllm" },
  ...SERVICES.map(({ name, image }) => ({
    role: name,
    name: image.repository,
    package: image.package,
  })),
];

/** The components of ours that declare a container, and what it is below each. */
const ROLE_BELOW: ReadonlyMap<string, ContainerRole> = new Map([
  [TYPE.inferenceServer, "inference-server"],
  ...SERVICES.map(({ component, name }) => [component, name] as const),
]);

/**
 * What a container of ours is, by what declares it, whatever its image is called; `undefined` for
 * one made by hand.
 */
export function declaredRole({ role, urn = "" }: DeclaredResource): ContainerRole | undefined {
  if (role !== undefined) return role === "inference-server" ? role : serviceNamed(role)?.name;
  // urn:pulumi:STACK::PROJECT::TYPE$TYPE::NAME, the outermost parent's type first.
  const types = urn.split("::")[2]?.split("$") ?? [];
  return types.map((type) => ROLE_BELOW.get(type)).findLast((each) => each !== undefined);
}

/**
 * What a container is: by what declares it, else by the name of its image; `undefined` for any
 * other container.
 */
export function roleOf(resource: DeclaredResource): ContainerRole | undefined {
  const image = text(resource.props.image);
  return declaredRole(resource) ?? (typeof image === "string" ? roleByName(image) : undefined);
}

/** What an image serves by its name, `undefined` for any other image. */
export const roleByName = (image: string): ContainerRole | undefined => knownImage(image)?.role;

/** The package whose release an image's tag names, by what is declared of it and by its name. */
export function packagesOf(image: string, declared: ContainerRole | undefined): string[] {
  const byRole = KNOWN_IMAGES.find(({ role }) => role === declared)?.package;
  return [...new Set([byRole, knownImage(image)?.package])].filter((each) => each !== undefined);
}

/** By the name alone, so that an image whose reference is faulty is still known. */
function knownImage(image: string) {
  const repository = repositoryIn(image);
  return KNOWN_IMAGES.find(({ name }) => name.test(repository));
}
