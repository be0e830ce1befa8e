"""Networks on graphs: convolution and attention over the neighbours of a node."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program

NODES, FEATURES, CLASSES = 600, 100, 7


def random_graph():
    """Features, labels, a dense adjacency with self loops, its normalised sparse form."""
    features = (torch.rand(NODES, FEATURES) < 0.05).float()
    labels = torch.randint(0, CLASSES, (NODES,))
    adjacency = (torch.rand(NODES, NODES) < 0.01).float()
    adjacency = ((adjacency + adjacency.t() + torch.eye(NODES)) > 0).float()
    degree = adjacency.sum(1).pow(-0.5)
    return features, labels, adjacency, degree[:, None] * adjacency * degree[None]


class GraphConv(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(inside, outside))
        self.bias = nn.Parameter(torch.zeros(outside))
        nn.init.xavier_normal_(self.kernel)

    def forward(self, x, adjacency):
        return torch.mm(adjacency, torch.mm(x, self.kernel)) + self.bias


class GCN(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(FEATURES, hidden), GraphConv(hidden, CLASSES)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, adjacency):
        x = self.dropout(F.relu(self.gc1(x, adjacency)))
        return F.log_softmax(self.gc2(x, adjacency), dim=1)


class GraphAttention(nn.Module):
    def __init__(self, inside, outside, heads, concat=True):
        super().__init__()
        self.heads, self.size, self.concat = heads, outside // heads if concat else outside, concat
        self.W = nn.Parameter(torch.empty(inside, heads * self.size))
        self.a = nn.Parameter(torch.empty(heads, 2 * self.size, 1))
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a)

    def forward(self, h, adjacency):
        count = h.shape[0]
        h = torch.mm(h, self.W).view(count, self.heads, self.size).permute(1, 0, 2)
        source = torch.matmul(h, self.a[:, : self.size])
        target = torch.matmul(h, self.a[:, self.size :])
        e = F.leaky_relu(source + target.mT, 0.2)
        attention = torch.where(adjacency > 0, e, -9e16 * torch.ones_like(e))
        attention = F.dropout(F.softmax(attention, dim=-1), 0.6, training=self.training)
        out = torch.matmul(attention, h)
        if self.concat:
            return out.permute(1, 0, 2).reshape(count, self.heads * self.size)
        return out.mean(dim=0)


class GAT(nn.Module):
    def __init__(self, hidden=32, heads=4):
        super().__init__()
        self.first = GraphAttention(FEATURES, hidden, heads)
        self.last = GraphAttention(hidden, CLASSES, 1, concat=False)

    def forward(self, x, adjacency):
        x = F.elu(self.first(x, adjacency))
        x = F.dropout(x, 0.6, training=self.training)
        return F.log_softmax(self.last(x, adjacency), dim=1)


def train(model, graph, steps, tick):
    features, labels, adjacency = graph
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    known, unknown = slice(0, 140), slice(200, 500)
    for epoch in range(steps):
        model.train()
        optimizer.zero_grad()
        loss = F.nll_loss(model(features, adjacency)[known], labels[known])
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            model.eval()
            with torch.no_grad():
                found = model(features, adjacency)[unknown].argmax(dim=1)
                (found == labels[unknown]).float().mean().item()
        tick(loss.item())
    return model.parameters()


@program(steps=80)
def gcn(tick, steps):
    features, labels, _, normalised = random_graph()
    return train(GCN(), (features, labels, normalised), steps, tick)


@program(steps=60)
def gat(tick, steps):
    features, labels, adjacency, _ = random_graph()
    return train(GAT(), (features, labels, adjacency), steps, tick)
