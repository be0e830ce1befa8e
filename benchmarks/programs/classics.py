"""The examples that every framework has: digits by convolutions, by a recurrent net, pairs of digits."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs.registry import program


def digits(count, channels=1, size=28):
    """Noise with a class-dependent stripe, so that there is something to learn."""
    labels = torch.randint(0, 10, (count,))
    images = torch.randn(count, channels, size, size) * 0.5
    for row, label in enumerate(labels):
        images[row, :, int(label) * 2 : int(label) * 2 + 3] += 1.5
    return TensorDataset(images, labels)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def train_epoch(model, loader, optimizer, tick):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        tick(loss.item())


def test_epoch(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(dim=1, keepdim=True).eq(target.view_as(output[:, :1])).sum().item()
    return loss / len(loader.dataset), correct


@program(steps=60)
def mnist_cnn(tick, steps):
    batches = 20
    train = DataLoader(digits(batches * 32), batch_size=32, shuffle=True)
    test = DataLoader(digits(128), batch_size=64)
    model = ConvNet()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for _ in range(steps // batches):
        train_epoch(model, train, optimizer, tick)
        test_epoch(model, test)
        scheduler.step()
    return model.parameters()


class RowReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(input_size=28, hidden_size=64, batch_first=True)
        self.norm = nn.BatchNorm1d(64)
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        output, _ = self.rnn(x.reshape(-1, 28, 28))
        return F.log_softmax(self.fc(self.dropout(self.norm(output[:, -1]))), dim=1)


@program(steps=60)
def mnist_rnn(tick, steps):
    batches = 20
    train = DataLoader(digits(batches * 64), batch_size=64, shuffle=True)
    model = RowReader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps // batches):
        train_epoch(model, train, optimizer, tick)
    return model.parameters()


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 5),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 5),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Linear(1024, 128), nn.ReLU(inplace=True), nn.Linear(128, 1))
        self.apply(self.initialize)

    def initialize(self, module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            module.bias.data.fill_(0.01)

    def embed(self, x):
        return self.features(x).flatten(1)

    def forward(self, left, right):
        return torch.sigmoid(self.head(torch.cat([self.embed(left), self.embed(right)], dim=1)))


@program(steps=60)
def siamese(tick, steps):
    images, labels = digits(512).tensors
    model = Twin()
    optimizer = torch.optim.Adadelta(model.parameters())
    criterion = nn.BCELoss()
    model.train()
    for _ in range(steps):
        first, second = torch.randint(0, 512, (32,)), torch.randint(0, 512, (32,))
        target = (labels[first] == labels[second]).float()
        optimizer.zero_grad()
        loss = criterion(model(images[first], images[second]).squeeze(1), target)
        loss.backward()
        optimizer.step()
        tick(loss)
    return model.parameters()
