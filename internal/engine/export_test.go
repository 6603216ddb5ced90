package engine

// Prompt is what the agent is asked, which a session gives to the agent alone.
var Prompt = prompt

// PromptData is what a prompt is made of.
type PromptData = promptData

// Neighbour is another session at work.
type Neighbour = neighbour
