package engine

// Prompt is what the agent is asked, which a session gives to the agent alone.
var Prompt = prompt

// Placeholders are what a prompt file may have between {{ and }}.
var Placeholders = placeholders

// PromptData is what a prompt is made of.
type PromptData = promptData

// Neighbour is another session at work.
type Neighbour = neighbour
