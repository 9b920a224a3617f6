/** What a command template replaces with the path of the request file. */
export const REQUEST_PLACEHOLDER = "{review_request}";

/** Text with that in it; a form, so that editors know of it too. */
export const HOLDS_REQUEST = /\{review_request\}/;

/** What a command template replaces with the provider's model. */
export const MODEL_PLACEHOLDER = "{model}";
